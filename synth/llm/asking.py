"""One question to a model, until there is an answer that can be used: within the budgets, and never paid for twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from synth.llm.brief import block, clip
from synth.llm.budget import PRICES, Budget, Price, price_of
from synth.llm.errors import BudgetSpent, Malformed, ModelError, Refused, Truncated
from synth.llm.exchange import Answer, Request, Tape
from synth.llm.prompts import fill, prompt, prompts_sha256
from synth.llm.service import Service
from synth.llm.settings import Settings
from synth.llm.tools import Declined, Groups, Proposal, read
from synth.usage import Usage

MORE_ROOM = 4
"""Times the limit of an answer that a second try has, where the first was cut off."""


@dataclass
class Asker:
    """Asks, counts and remembers. One a generator: its run's budget holds over all patterns."""

    settings: Settings
    client: Service
    model: str = field(init=False)
    _run: Budget = field(init=False)
    _pattern: Budget = field(init=False)
    _events: list[str] = field(default_factory=list)
    _ahead: dict[str, tuple[Usage, float]] = field(default_factory=dict)
    """Digests of requests that were asked ahead: what each cost, and at which share of the price. The run has it counted."""
    _lost: dict[str, str] = field(default_factory=dict)
    """Of those, the ones that brought no answer, and why."""

    def __post_init__(self) -> None:
        s = self.settings
        self.model = self.client.model(s.model)
        run_options = ("--llm-max-run-tokens", "--llm-max-run-cost")
        self._run = Budget(self._price(), s.max_run_tokens, s.max_run_cost_usd, "run", run_options)
        self._pattern = self._new_budget()

    @property
    def events(self) -> tuple[str, ...]:
        """Refused, malformed, truncated and lost answers of the pattern, in order: kept, never thrown away."""
        return tuple(self._events)

    @property
    def lost_ahead(self) -> tuple[str, ...]:
        """Why requests that were asked ahead, and not yet in their turn, brought no answer."""
        return tuple(self._lost.values())

    def take_usage(self, *, last: bool = False) -> Usage:
        """What was spent on the pattern since it was begun, with how the answers went.

        Args:
            last: No pattern follows: with what was asked ahead for those that were not taken up.
        """
        while last and self._ahead:
            self._take_ahead(next(iter(self._ahead)))
        events, self._events = tuple(self._events), []
        counts = {kind: sum(e.startswith(kind) for e in events) for kind in ("refused", "malformed", "truncated")}
        usage, self._pattern = self._pattern.usage, self._new_budget()
        return replace(
            usage, refusals=counts["refused"], malformed=counts["malformed"], truncated=counts["truncated"],
            events=events, model=self.model, prompts=prompts_sha256(),
        )  # fmt: skip

    def proposal(self, shown: str, instruction: str) -> Proposal | Declined:
        """A proposed skill, or why there is none.

        Args:
            shown: The recordings, as a block.
            instruction: What to do, with everything that is quoted in blocks.

        Raises: see ``_usable``.
        """
        found = self._usable(self.request(shown, instruction))
        assert not isinstance(found, Groups)
        return found

    def request(self, shown: str, instruction: str) -> Request:
        """What ``proposal`` sends first."""
        return self._request("system", shown, instruction, "skill")

    def affordable(self, requests: Sequence[Request]) -> list[Request]:
        """Those of the requests that were not answered yet and that all together fit into the run's budget, at their dearest."""
        folder, out = self.settings.cache, []
        rest = replace(self._run)
        for request in requests:
            if folder is None or Tape(folder).answered(request) is not None:
                continue
            try:
                sent = self.client.count(request) or _estimate(request)
                room = min(b.room(sent, request.max_output_tokens) for b in (rest, self._new_budget()))
            except BudgetSpent:
                continue
            rest.count(Usage(cache_write_tokens=sent, output_tokens=room))
            out.append(replace(request, max_output_tokens=room))
        return out

    def answered_ahead(self, request: Request, answer: Answer, share: float = 1.0) -> None:
        """Keeps an answer that a pattern will ask for: the run pays it now, the pattern has it on its bill then."""
        assert self.settings.cache is not None
        Tape(self.settings.cache).keep(request, answer)
        self._run.count(_usage(answer), share)
        self._ahead[request.digest] = (_usage(answer), share)

    def failed_ahead(self, request: Request, error: ModelError) -> None:
        """Counts what broke off. The pattern that asks again has it on its bill then, and why it had to."""
        self._run.count(error.spent)
        self._ahead[request.digest] = (error.spent, 1.0)
        self._lost[request.digest] = error.what

    def groups(self, shown: str) -> Groups:
        """Which recordings are one task.

        Args:
            shown: What is known of them, as a block.

        Raises: see ``_usable``.
        """
        found = self._usable(self._request("group", shown, "Group them by one call of `group_recordings`.", "groups"))
        assert isinstance(found, Groups)
        return found

    def _request(self, system: str, shown: str, instruction: str, purpose: str) -> Request:
        s = self.settings
        return Request(
            self.model, prompt(system), shown, instruction, s.max_output_tokens, prompts_sha256(), s.effort, s.thinking,
            s.strict, purpose, self.client.name,
        )  # fmt: skip

    def _usable(self, request: Request) -> Proposal | Declined | Groups:
        """What the model answers. An answer that is malformed or cut off is asked for once more, with what was wrong.

        Raises:
            Refused, Malformed, Truncated: it gave nothing that can be used.
            BudgetSpent: there is no room for the request.
            ModelError: the service gave no answer.
        """
        answer = self._ask(request)
        try:
            return self._read(answer, request)
        except Truncated:
            room = MORE_ROOM * request.max_output_tokens
            again = replace(request, instruction=f"{request.instruction}\n\n{fill('truncated')}", max_output_tokens=room)
        except Malformed as e:
            was = {"wrong": e.what, "tool": answer.tool, "input": answer.input, "text": clip(answer.text)}
            shown_again = block("your_last_answer", {k: _clipped(v) for k, v in was.items() if v})
            again = replace(request, instruction=f"{request.instruction}\n\n{fill('malformed', answer=shown_again)}")
        try:
            return self._read(self._ask(again), request)
        except Malformed as e:
            raise Malformed(f"the model's answers could not be used: {e.what}", "Choose another one with --model") from e

    def _read(self, answer: Answer, request: Request) -> Proposal | Declined | Groups:
        try:
            found = read(answer)
            if isinstance(found, Groups) != (request.purpose == "groups"):
                raise Malformed(f"there is no tool {answer.tool!r}")
            return found
        except (Refused, Malformed, Truncated) as e:
            self._events.append(f"{type(e).__name__.lower()}: {e.what}")
            raise

    def _ask(self, request: Request) -> Answer:
        if self.settings.replay is not None:
            return self._reused(Tape(self.settings.replay).find(request))
        folder = self.settings.record or self.settings.cache
        kept = Tape(folder).answered(request) if folder is not None else None
        ahead = self._take_ahead(request.digest)
        if kept is not None:
            return kept if ahead else self._reused(kept)
        request = replace(request, max_output_tokens=self._room(request))
        try:
            answer = self.client.ask(request)
        except ModelError as e:
            self._count(e.spent)
            self._events.append(f"lost: {e.what}")
            if self.settings.record is not None:
                Tape(self.settings.record).keep(request, e)
            raise
        except KeyboardInterrupt:
            # It was sent: that is paid for, whatever would have come.
            self._count(Usage(_estimate(request), requests=1))
            self._events.append("lost: interrupted; of its cost, what was sent is counted, by an estimate")
            raise
        if folder is not None:
            Tape(folder).keep(request, answer)
        self._count(_usage(answer))
        return answer

    def _take_ahead(self, digest: str) -> bool:
        """Puts what was asked ahead on the pattern's bill; whether it was."""
        spent = self._ahead.pop(digest, None)
        if spent is None:
            return False
        self._pattern.count(*spent)
        if digest in self._lost:
            self._events.append(f"lost: {self._lost.pop(digest)}")
        return True

    def _room(self, request: Request) -> int:
        """The output that both budgets allow. The service's own count of the input; else a character count on the dear side."""
        bounded = any(b.max_tokens is not None or b.max_cost_usd is not None for b in (self._pattern, self._run))
        if not bounded:
            return request.max_output_tokens
        # A budget that has no room for half of what is sent needs no exact count.
        for budget in (self._run, self._pattern):
            budget.room(_estimate(request) // 2, request.max_output_tokens)
        sent = self.client.count(request) or _estimate(request)
        return min(budget.room(sent, request.max_output_tokens) for budget in (self._run, self._pattern))

    def _reused(self, answer: Answer) -> Answer:
        self._count(Usage(reused=1))
        return answer

    def _count(self, usage: Usage) -> None:
        self._pattern.count(usage)
        self._run.count(usage)

    def _new_budget(self) -> Budget:
        return Budget(self._price(), self.settings.max_tokens, self.settings.max_cost_usd)

    def _price(self) -> Price | None:
        return price_of(self.model, self.settings.prices) or price_of(self.model, PRICES)


def _estimate(request: Request) -> int:
    """Tokens of a request: three bytes each err on the dear side, for code and JSON as for scripts of a character a token."""
    return (
        sum(len(text.encode("utf-8", "surrogatepass")) for text in (request.system, request.evidence, request.instruction)) // 3
        + 1
    )


def _usage(answer: Answer) -> Usage:
    return Usage(
        answer.input_tokens, answer.output_tokens, answer.cache_read_tokens, answer.cache_write_tokens, answer.thinking_tokens,
        requests=answer.requests, retries=answer.retries,
    )  # fmt: skip


def _clipped(value: object) -> object:
    if isinstance(value, str):
        return clip(value)
    return (
        {str(k)[:100]: clip(v) if isinstance(v, str) else clip(repr(v)) for k, v in value.items()}
        if isinstance(value, dict)
        else value
    )
