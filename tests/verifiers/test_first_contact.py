"""Mistakes and correct skills by people who had not read the judge: one of each for every rule that they led to."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from judging import taken
from labelled import load_labels, open_bench

from sandbox import open_sandbox
from sandbox.interface import Sandbox
from verifiers.evidence import load_evidence
from verifiers.expectation.sessions import Memory
from verifiers.interface import Binding, Report, Verdict
from verifiers.subject import load_subject
from verifiers.verify import Options, verify

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1800)]
"""The first test waits for all reports."""
ROUNDS = Path(__file__).parents[2] / "fixtures" / "first_contact"
WRONG = {
    "2/checksum_manifest/s8": "differs from the trace's commands",
    "2/csv_left_join/s1": "differs from the trace's commands",
    "2/gunzip_tree/s8": "refuse to overwrite it",
    "2/jsonl_drop_records/s4": "differs from the trace's commands",
    "2/sqlite_open_loans/s1": "for more than text",
    "2/tick_todo/s7": "takes the name for its own",
    "2/tsv_sort_by_number/s5": "loses a line",
    "2/rename_note/s3": "is lost",
    "3/bump-version/s2": "differs from the trace's commands",
    "3/ignore-rule/s8": "differs from the trace's commands",
    "3/lockstep-dependency/s1": "changes more than that",
    "3/spdx-header/s9": "which only a link leads to",
    "7/makevar/s3": "differs from the trace's commands",
    "7/chess_score/s3": "differs from the trace's commands",
    "3/stage-manifest/s10": "is not there",
    "5/chapter_numbers/s7": "is gone, which the trace's commands keep",
    "5/crontab_off/s7": "called 'root'",
    "5/maildir_read/s1": "differs from the trace's commands",
    "5/po_translation/s4": "differs from the trace's commands",
    "5/quota_report/s3": "differs from the trace's commands",
    "5/quota_report/s6": "the skill's own text in 'svc_…'",
    "5/sql_table/s2": "differs from the trace's commands",
    "6/date_folders/s5": "differs from the trace's commands",
    "6/json_overlay/s5": "differs from the trace's commands",
    "6/release_switch/s5": "names nothing",
    "6/shebang_exec/s1": "mode: expected",
    "6/shebang_exec/s6": "observed 4755",
    "8/pad_levels/s2": "is lost",
    "8/revoke_key/s7": "differs from the trace's commands",
    "8/picklist_zones/s5": "a double quote",
    "8/low_samples/s6": "leaves something of that name",
    "8/gedcom_occupation/s7": "loses a line",
    "14/dated-scans/w_last_year": "differs from the trace's commands",
    "14/gpx-highest/w_zipped_columns": "differs from the trace's commands",
    "14/tar-restore/w_default_mode": "mode: expected",
    "6/zone_addresses/s6": "differs from the trace's commands",
    "16/dhcp-address/wrong_name_boundary": "differs from the trace's commands",
    "16/dhcp-address/wrong_comment_line": "differs from the trace's commands",
    "17/ledger_rename_account/silent": "no file has what old says",
    "18/vcf-passing/bad_header": "the answer at answer differs",
    "20/mgf-charge-titles/w_split": "its answer lacks",
    "21/mosquitto_topic_access/nadia": "takes the value of topic for more than text",
    "21/lrc-offset/ines": "bytes that are no UTF-8",
    "28/rdb-days-above/w_limit_counts": "the answer at output differs",
    "29/apache-server-alias/w_comment_counts": "content: expected",
    "29/ghcn-heavy-rain-days/w_more_than": "the answer at output differs",
    "29/older-versions-aside/w_text_order": "removed: expected",
    "29/stale-pid-files/w_joined_string": "created: expected",
    "30/rabbitmq-bound-queues/w_repeated": "the answer at output differs",
    "30/rabbitmq-bound-queues/w_queue_vhost": "the answer at output differs",
    "31/json-chemicals-expiring/w_until": "the answer at output differs",
}
"""Skill -> what is said of it."""


def labelled(task: str) -> list[tuple[Path, bool]]:
    labels = sorted((ROUNDS / task).glob("*/label.json"))
    return [(label.parent, json.loads(label.read_text())["expect"] == "PASS") for label in labels]


TASKS = sorted({name.rpartition("/")[0] for name in WRONG})
RIGHT = [next(folder for folder, good in labelled(task) if good) for task in TASKS[::8]]
RIGHT += [
    ROUNDS / name
    for name in (
        "6/date_folders/s2", "7/mergeparts/s3", "8/pad_levels/s7", "11/requirements_pin/bytes_regex",
        "12/records_to_tsv/row_class", "12/srt_start_at/stamp_class", "12/recipes_with_ingredient/good_regex",
        "14/tar-restore/c_tarfile", "12/sidecar_day_keyword/good_plan", "17/flag_enabled/lines", "17/hunspell_add_word/awk",
        "17/reverse_depends/awk",
        "17/gcode_pause/lines", "18/ffmeta-chapter/ok_sections", "18/patch_added_lines/numstat", "19/palette-colour/line-list",
        "28/automake-drop-source/token_spans", "28/disc-folders-flatten/find_and_move", "28/catalog-drop-library/sed_ranges",
        "29/readme_table_cell/line_walk", "29/prom-label-above/json_labels", "29/mail-domain-change/address_tokens",
        "30/pg-hba-user-method/awk_program", "30/influx-tag-value/head_regex", "30/ldif-unit-mails/unfold_regex",
        "31/monthly-db-dumps/groups_by_date", "31/robots-disallow/line_scan",
        "31/abook-contact-field/awk_two_pass", "19/gomod-version/good_awk",
    )
]  # fmt: skip
"""With some that were refused at first: they refuse to overwrite, their records have two lines, they leave alone a file whose
ending no recording has, write numbers otherwise, take a dotted ending for two, cut a log's lines at their quotes, know a
line that holds no more than an argument, read digests, times, tables, records under a heading, JSON whose keys come once and
names of files, do without a file that one recording has not, take no other word for true and false, keep the ends of lines that
are Windows' already, leave alone what is done where another recording's commands do, leave out blanks around a line, know a
format better than commands that are right on their own start alone, change one table of several, know of what signs a value is
made and what words a format has, read a line that is set in otherwise, know the calendar, or know what of a
text belongs together."""

REACHED = (
    "2/tick_todo/s1", "2/rename_note/s4", "2/csv_group_sum/s6", "3/release-notes/s7", "3/scaffold-module/s1", "4/photo_prefix/s7",
    "21/lenex_club_athletes/stefan", "21/parts_by_piece/ewa", "27/csv-ids-unmatched/own_parser", "27/copyright-years/c_bytes",
    "8/gedcom_occupation/s5", "14/dated-scans/c_move_class", "14/gpx-highest/c_waypoints", "16/fasta-length/pathlib_groups",
    "29/diary-day-files/entry_objects",
)  # fmt: skip
"""Correct ones with branches that only a search meets, or that do no more than raise."""


@pytest.fixture(scope="module")
def reports() -> dict[Path, Report]:
    """Two at a time, as there are cores: judging one after the other takes twice as long."""
    memory: Memory = {}
    folders = [*(ROUNDS / name for name in taken([*WRONG])), *taken(RIGHT)]
    with open_sandbox() as sandbox, ThreadPoolExecutor(2) as pool:
        return dict(zip(folders, pool.map(lambda folder: judged(folder, sandbox, memory), folders), strict=True))


def judged(folder: Path, sandbox: Sandbox, memory: Memory, *checks: str) -> Report:
    beside = folder / "evidence.jsonl"
    evidence = load_evidence(beside if beside.exists() else folder.parent / "evidence.jsonl")
    rows = json.loads((folder / "bindings.json").read_text())
    bindings = {task_id: Binding(task_id, row["args"]) for task_id, row in rows.items()}
    options = Options(checks=frozenset(checks or ["generalises"]), memory=memory)
    return verify(load_subject(folder / "skill.py"), evidence, bindings, sandbox=sandbox, options=options)


@pytest.mark.parametrize("name", taken([*WRONG]))
def test_a_mistake_is_refused_for_what_it_does(name: str, reports: dict[Path, Report]) -> None:
    """As it is said in the finding."""
    report = reports[ROUNDS / name]
    assert report.verdict is Verdict.FAIL
    assert WRONG[name] in report.why


@pytest.mark.parametrize("folder", taken(RIGHT), ids=lambda folder: "/".join(folder.parts[-3:]))
def test_a_correct_skill_of_the_same_task_passes(
    folder: Path, reports: dict[Path, Report], request: pytest.FixtureRequest
) -> None:
    """With few questions."""
    report = reports[folder]
    assert report.verdict is Verdict.PASS, report.why
    if "/".join(folder.parts[-3:]) in MANY_ASKED:
        request.applymarker(pytest.mark.xfail(reason="three questions", strict=True))
    assert len(report.questions) <= 2


MANY_ASKED = (
    "28/catalog-drop-library/sed_ranges", "29/readme_table_cell/line_walk", "29/prom-label-above/json_labels",
    "30/pg-hba-user-method/awk_program", "30/influx-tag-value/head_regex",
)  # fmt: skip
"""What more than two questions are asked about; known, and not wanted."""

RULES = (
    ("27/drop-archived-copies/digests", ""),
    ("25/las-name-by-header/w_replaces", "move nothing onto it"),
    ("27/fail2ban-still-banned/c_awk", ""),
    ("25/las-name-by-header/bytes_regex", ""),
    ("27/duplicity-retire-chains/c_cutoff", ""),
    ("25/nfs-client-access/w_dots", "takes the value of client for more than text"),
    ("27/iptables-source-rules/w_prefix", "the line ends of"),
    ("25/openfoam-solver-entry/masked_text", ""),
    ("27/iptables-source-rules/c_sed", ""),
    ("25/openfoam-solver-entry/token_stack", ""),
    ("27/copyright-years/c_plan", ""),
    ("25/logiqx-rename-roms/plan_two_steps", ""),
    ("27/duplicity-retire-chains/w_overwrite", "is lost"),
    ("27/fail2ban-still-banned/w_part_of_name", "takes the value of jail for more than text"),
)
"""Skill -> what is said of it; nothing of a correct one."""


@pytest.mark.parametrize(("name", "said"), taken(RULES))
def test_rules_of_the_last_rounds(name: str, said: str) -> None:
    """What each catches, and a correct skill of the like that it does not."""
    with open_sandbox() as sandbox:
        report = judged(ROUNDS / name, sandbox, {})
    assert (report.verdict is Verdict.FAIL) is bool(said), report.why
    assert said in report.why


@pytest.mark.parametrize("name", taken(REACHED))
def test_every_branch_of_a_correct_skill_is_met(name: str) -> None:
    """By the worlds alone, without those of other checks."""
    with open_sandbox() as sandbox:
        report = judged(ROUNDS / name, sandbox, {}, "exercised")
    assert report.verdict is Verdict.PASS, report.why


@pytest.mark.parametrize(
    "name",
    taken(
        ["13/zigbee_friendly_name/c3_inserts", "29/pyproject_extra_add/masked_text", "29/older-versions-aside/running_best",
         "30/ldif-unit-mails/awk_pipeline"]
    ),
)  # fmt: skip
def test_a_branch_is_met_where_generalises_has_tried(name: str) -> None:
    """One puts in a key that the start lacks, where the commands then change the next device: the skill parts from them there."""
    with open_sandbox() as sandbox:
        report = judged(ROUNDS / name, sandbox, {}, "generalises", "exercised")
    assert report.verdict is Verdict.PASS, report.why
    assert len(report.questions) <= 2


@pytest.mark.parametrize(("name", "asked"), [("6/alias_member/s5", True), ("6/alias_member/s1", False)])
def test_a_pattern_that_the_commands_make_too_is_asked_about(name: str, asked: bool) -> None:
    """A value with a dot in it changes another line, by skill and commands alike; who takes it as it stands is asked nothing."""
    with open_sandbox() as sandbox:
        report = judged(ROUNDS / name, sandbox, {})
    assert report.verdict is Verdict.PASS, report.why
    assert ("said-as-it-stands" in {q.invariant for q in report.questions}) == asked


def test_who_takes_an_empty_directory_is_looked_at_again() -> None:
    """Where it holds something."""
    with open_sandbox() as sandbox:
        report = judged(ROUNDS / "6/release_switch/s3", sandbox, {}, "exercised")
    assert report.verdict is Verdict.FAIL
    assert "none of its business" in report.why


def test_an_older_result_in_the_way_is_asked_about() -> None:
    """Who compresses anew what somebody compressed may be right: the commands refuse, which is said."""
    label = next(x for x in load_labels("gate") if x.family == "pub_bzip_ext" and x.good)
    with open_bench() as bench:
        report = bench.judge(label, Options(checks=frozenset(["generalises"]))).report
    assert report.verdict is Verdict.PASS, report.why
    assert {q.invariant for q in report.questions} == {"nothing-in-the-way", "plain-values"}  # nor is c.xxml one of xml
