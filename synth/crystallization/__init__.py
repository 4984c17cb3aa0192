"""From one pattern to a registered skill: candidates searched, judged on traces left out, promoted."""
