"""The words that people read of a skill: its description out of the requests, and its name out of the description."""

from __future__ import annotations

import re

import pytest

from synth.embedded.naming import skill_name, summary_of
from synth.embedded.wording import named_beside, shared

NAMES = [
    ("Count the <text> lines of <file>", "show_log", "count_lines"),
    ("Raise the minimum of <key> to <value> in pyproject.toml", "bump_pyproject", "raise_minimum"),
    ("Stack all <prefix>*.csv files into <output_file>", "merge_csv_header", "stack_csv_files"),
    ("Write <folder>/sitemap.xml for the pages in <folder>", "write_base", "write_sitemap"),
    ("Put a .gitkeep in every empty folder below <root>", "keep_folder", "put_gitkeep"),
    ("Unpack <archive> to <folder> without the top level folder", "unpack_top", "unpack_archive"),
    ("Point the <text> <key> in etc/app.ini to <value>", "update_app", "point_key_in_app"),
    ("Delete all .<ext> files", "clean_up", "delete_files"),
    ("Set <key> to <value> in <file>", "set_option", "set_option"),
    ("Make <output_file> from <file>", "export_rows", "export_rows"),
    ("Restore <file> out of it", "backup_rows", "restore_file"),
    ("Replace <old> by NA in <source>", "replace_csv", "replace_csv"),
    ("Count how often each value shows up in <file>", "count_csv", "count_csv"),
    ("Semicolon csv -> tsv for every file", "convert_csv", "convert_csv"),
    ("History of <file>", "list_commits", "list_commits"),
    ("Open items with a due date before <value>", "show_tsv_due", "show_open_items"),
    ("In the catalog <file>, set the translation of <text>", "set_everything", "set_translation"),
    ("Look up the <value> in <file>", "show_section", "show_section"),
    ("Which items are due before <value>?", "show_tsv_due", "show_tsv_due"),
    ("Find all files named <pattern> here and delete them", "find_files", "delete_files"),
    ("Find TODO comments in *.<ext> and list them per file in <output_file>", "collect_todo", "list_todo_comments"),
    ("Find files below <root> and print their md5 sums into <output_file>", "find_files", "print_md5_sums"),
    ("Find symlinks under and below the <root> directory", "find_links", "find_symlinks"),
    ("Back up <folder> to <output_file>", "pack_folder", "back_up_folder"),
    ("Prints the last non-empty line of <file>", "show_line", "print_last_non_empty_line"),
    ("Count the number of lines in all <ext> files", "count_number", "count_lines"),
    ("Commit everything as <name>", "update_commit", "commit_everything"),
    ("Docs submodule: branch <branch>", "follow_branch", "follow_branch"),
]


@pytest.mark.parametrize(("summary", "category", "name"), NAMES)
def test_a_name_is_the_description_in_short(summary: str, category: str, name: str) -> None:
    """The verb and what follows it; the pattern's name where a description begins otherwise or says less."""
    assert skill_name(category, summary) == name


def test_a_request_that_says_what_to_do_is_the_description() -> None:
    """Not one that tells what is the matter, though it is shorter; and rather one that names the file that all have."""
    told = [("Some links in {} are dead", "site"), ("Please find all of the dangling links under {}, thanks", "opt")]
    cases = [(text.format(folder), {"root": folder}) for text, folder in told]
    assert summary_of(cases) == "find all of the dangling links under <root>"
    hosts = [("Append host {0}", "web"), ("Add a host {0} to ssh/config", "db")]
    cases = [(text.format(host), {"host": host}) for text, host in hosts]
    assert summary_of(cases, "add_host", {"ssh/config"}) == "Add a host <host> to ssh/config"


ASIDES = [
    ("Bob left. Take his key ({}) out", "Take his key (<key>) out"),
    ("GDPR: remove the {} column", "remove the <key> column"),
    ("Set {} in it please, we need to see what it does", "Set <key> in it"),
    ("Clear {} in it before I commit (all of them)", "Clear <key> in it"),
    ("No default for {} yet, please make it", "No default for <key> yet, make it"),
    ("Give me the names of {}, thanks", "Show the names of <key>"),
    ("Tell me how many are in {}", "Tell me how many are in <key>"),
    ("Find orphans: {} of the others", "Find orphans: <key> of the others"),
    ("Drop {}, keep the header only", "Drop <key>, keep the header only"),
]


@pytest.mark.parametrize(("said", "kept"), ASIDES)
def test_what_is_said_beside_the_task_is_left_out(said: str, kept: str) -> None:
    """How it came about and what the person does besides; a restriction stays."""
    assert summary_of([(said.format("k1"), {"key": "k1"}), ("the other one, k2x", {"key": "k2"})]) == kept


def test_a_word_of_a_value_that_one_recording_has_is_not_the_tasks() -> None:
    """It is part of that value and of no other; a word of every recording's values stays."""
    first = ("Count how often each city shows up, into city_counts.txt", {"out": "city_counts.txt"})
    second = ("Tally of the tickets, status_counts.txt", {"out": "status_counts.txt"})
    assert summary_of([first, second]) == "Count how often each value shows up, into <out>"
    sums = [(f"Sum the euro column per {what}, into {what}_sum.tsv", {"out": f"{what}_sum.tsv"}) for what in ("dept", "kind")]
    assert summary_of(sums) == "Sum the euro column, into <out>"
    both = [(f"Save the counts to {what}_counts.txt", {"out": f"{what}_counts.txt"}) for what in ("x", "y")]
    assert summary_of(both) == "Save the counts to <out>"


def test_a_skill_without_an_answer_promises_none() -> None:
    """What a person wants to be told is no part of what changes files; what is printed into a file is."""
    cases = [("Get the X lines from <file>, save as o.txt, print the count", {})]
    assert summary_of(cases, answers=False) == "Get the X lines from <file>, save as o.txt"
    assert summary_of(cases).endswith("print the count")
    assert summary_of([("Print a and print b into <file>", {})], answers=False) == "Print a and print b into <file>"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Join the <a> files of the photometer to <b>, header once", "Join the <a> files to <b>, header once"),
        ("Check each photometer", "Check each value"),
        ("Show the photometer", "Show the …"),
    ],
)
def test_a_phrase_of_one_recording_goes_with_its_words_before(text: str, said: str) -> None:
    """What only this recording is about."""
    assert shared(text, ["photometer_2024.csv"], ["Join the balance files"]) == said


CALLED = [
    ("Compress all *.<text> files using bzip2", {"text": "ext"}),
    ("Write <output_file> out of <file>, name <new>, date <new2>", {"new2": "date"}),
    ("Rename field <old> to <new>", {}),
    ("Move finished files from <folder2>/ to <folder>/ and purge <folder3>", {"folder2": "source", "folder": "destination"}),
    ("Fix permissions under <root>: directories <file_mode2>, files <file_mode>", {"file_mode2": "directory_mode"}),
    ("Add host <text> to <file>", {"text": "host"}),
    ("Change the limit from <value> to <value2>", {}),
]


@pytest.mark.parametrize(("text", "words"), CALLED)
def test_a_value_is_called_as_the_description_calls_it(text: str, words: dict[str, str]) -> None:
    """By the noun before it, by the dot before it, by where it comes from; never where a direction would be lost."""
    names = re.findall(r"<(\w+)>", text)
    assert named_beside(text, names) == words
