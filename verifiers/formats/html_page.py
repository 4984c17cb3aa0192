def render(page): return ""
