"""Elections under simulated time. After every single step: at most one leads."""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from intact.kube.client import Client
from intact.kube.errors import Unreachable
from intact.kube.lease import Election, Timing
from intact.kube.resources import LEASES
from intact.kube.transport import Request, Response, Stream
from intact.model.lease import Lease
from intact.sandbox import MemoryApi, Moment, run, wall_clock
from tests.support.objects import Json
from tests.unit.kube.simulated import now

NS, NAME = "default", "intact"
DURATION, DEADLINE, PERIOD = 15.0, 10.0, 2.0


class Line:
    """The line between one candidate and the server: it can be slow, or cut.

    What was sent arrives, whether or not somebody still waits for the answer.
    """

    def __init__(self, api: MemoryApi) -> None:
        self._cut = False
        self.delay: Callable[[Request], tuple[float, float]] = lambda _request: (0.0, 0.0)
        """Seconds on the way there, and on the way back."""
        self._api = api

    @property
    def cut(self) -> bool:
        return self._cut

    @cut.setter
    def cut(self, cut: bool) -> None:
        self._cut = cut

    async def send(self, request: Request) -> Response:
        if self.cut:
            raise Unreachable("the line is cut", sent=False)
        there, back = self.delay(request)
        under_way = asyncio.create_task(self._deliver(request, there, back))
        # Somebody has to look at the failure of a request that nobody waits for any more.
        under_way.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.wait({under_way})
        if self.cut:
            raise Unreachable("the line is cut")
        return under_way.result()

    async def _deliver(self, request: Request, there: float, back: float) -> Response:
        await asyncio.sleep(there)
        response = await self._api.send(request)
        await asyncio.sleep(back)
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        if self.cut:
            raise Unreachable("the line is cut", sent=False)
        return self._api.stream(request)

    async def close(self) -> None:
        """Nothing to close."""


class Candidate:
    def __init__(self, scene: "Scene", identity: str, seed: int) -> None:
        self.line = Line(scene.api)
        self.election = Election(
            Client(self.line, rng=random.Random(seed)),
            NS,
            NAME,
            identity,
            now=wall_clock(),
            rng=random.Random(seed),
        )
        self.began: list[float] = []
        self.ended: list[float] = []
        self._scene = scene
        self._task: asyncio.Task[None] | None = None

    @property
    def leads(self) -> bool:
        return self.election.leads

    @property
    def at_work(self) -> bool:
        return len(self.began) > len(self.ended)

    def start(self, lead: Callable[[], Awaitable[None]] | None = None) -> "asyncio.Task[None]":
        self._task = asyncio.create_task(self.election.run(lead or self._lead))
        return self._task

    async def _lead(self) -> None:
        if not self.leads:
            self._scene.started_without_leading.append(self.election.identity)
        self.began.append(now())
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.append(now())

    async def stop(self) -> None:
        """A clean end."""
        assert self._task is not None
        self._task.cancel()
        await asyncio.wait({self._task})

    async def kill(self) -> None:
        """As if the process were gone: nothing that it still tries reaches the server."""
        self.line.cut = True
        await self.stop()


class Scene:
    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.api = MemoryApi(seed=seed, managed_fields=False)
        self.client = Client(self.api)
        self.candidates: list[Candidate] = []
        self.started_without_leading: list[str] = []

    def candidate(self) -> Candidate:
        number = len(self.candidates)
        made = Candidate(self, f"candidate-{number}", self.seed * 1000 + number)
        self.candidates.append(made)
        return made

    def start(self, count: int) -> list[Candidate]:
        made = [self.candidate() for _ in range(count)]
        for each in made:
            each.start()
        return made

    def check(self) -> None:
        """After every step."""
        leading = [each.election.identity for each in self.candidates if each.leads]
        at_work = [each.election.identity for each in self.candidates if each.at_work]
        assert len(leading) <= 1, f"{leading} lead at {now()}"
        assert len(at_work) <= 1, f"{at_work} do a leader's work at {now()}"
        assert not self.started_without_leading

    def leaders(self) -> list[Candidate]:
        return [each for each in self.candidates if each.leads]

    async def leader(self, within: float = 60.0) -> Candidate:
        async with asyncio.timeout(within):
            while not self.leaders():
                await asyncio.sleep(0.05)
        return self.leaders()[0]

    async def lease(self) -> Lease:
        return await self.client.get(LEASES, NAME, NS)

    def stored(self) -> Json:
        found = self.api.peek("leases.coordination.k8s.io", NS, NAME)
        assert found is not None
        spec = found["spec"]
        assert isinstance(spec, dict)
        return spec


def play(
    test: Callable[[Scene], Coroutine[Any, Any, None]], *, seed: int = 0, max_time: float = 3600
) -> None:
    scene = Scene(seed)
    run(test(scene), seed=seed, on_step=scene.check, max_time=max_time)


class TestRecord:
    """What others, kubectl among them, read in the Lease."""

    def test_the_holder_and_its_promises(self) -> None:
        async def test(scene: Scene) -> None:
            scene.start(1)
            await asyncio.sleep(5)
            spec = scene.stored()
            assert spec["holderIdentity"] == "candidate-0"
            assert spec["leaseDurationSeconds"] == DURATION
            assert spec["leaseTransitions"] == 0
            assert re.fullmatch(r"2026-01-01T00:00:00\.\d{6}Z", spec["acquireTime"])
            assert re.fullmatch(r"2026-01-01T00:00:04\.\d{6}Z", spec["renewTime"])

        play(test)

    def test_each_change_of_the_holder_is_counted(self) -> None:
        async def test(scene: Scene) -> None:
            for transitions in range(3):
                [candidate] = scene.start(1)
                await asyncio.sleep(7)
                assert scene.stored()["leaseTransitions"] == transitions
                await candidate.stop()

        play(test)

    def test_a_lease_that_was_given_back_has_no_holder(self) -> None:
        async def test(scene: Scene) -> None:
            [candidate] = scene.start(1)
            await asyncio.sleep(1)
            await candidate.stop()
            assert scene.stored()["holderIdentity"] == ""
            assert not candidate.leads
            assert not candidate.at_work

        play(test)

    def test_a_fraction_of_a_second_is_promised_as_a_whole_one(self) -> None:
        async def test(scene: Scene) -> None:
            timing = Timing(duration=1.5, renew_deadline=1.0, retry_period=0.2)
            election = Election(scene.client, NS, NAME, "me", timing=timing)
            running = asyncio.create_task(election.run(lambda: asyncio.sleep(60)))
            await asyncio.sleep(1)
            assert scene.stored()["leaseDurationSeconds"] == 2
            assert not running.done()

        play(test)


class TestLeading:
    def test_one_candidate_leads_at_once_and_stays(self) -> None:
        async def test(scene: Scene) -> None:
            [candidate] = scene.start(1)
            await asyncio.sleep(0.1)
            assert candidate.leads
            assert candidate.election.holder == "candidate-0"
            await asyncio.sleep(1000)
            assert candidate.began == [0.0]
            assert candidate.ended == []
            assert candidate.election.transitions == 1

        play(test)

    @pytest.mark.parametrize("seed", range(20))
    def test_of_several_that_start_at_once_one_leads(self, seed: int) -> None:
        async def test(scene: Scene) -> None:
            scene.start(5)
            await asyncio.sleep(1)
            assert len(scene.leaders()) == 1
            holder = scene.stored()["holderIdentity"]
            assert [each.election.identity for each in scene.leaders()] == [holder]
            assert {each.election.holder for each in scene.candidates} == {holder}

        play(test, seed=seed)

    def test_work_that_fails_ends_the_candidate_and_gives_the_lease_back(self) -> None:
        async def test(scene: Scene) -> None:
            async def fail() -> None:
                await asyncio.sleep(1)
                raise KeyError("bug")

            with pytest.raises(KeyError, match="bug"):
                await scene.candidate().start(fail)
            assert scene.stored()["holderIdentity"] == ""

        play(test)

    def test_work_that_ends_stands_for_election_again(self) -> None:
        async def test(scene: Scene) -> None:
            candidate = scene.candidate()
            begun: list[float] = []

            async def lead() -> None:
                begun.append(now())
                await asyncio.sleep(5)

            candidate.start(lead)
            await asyncio.sleep(12)
            assert begun == [0, 5, 10]
            assert candidate.election.transitions == 3

        play(test)

    def test_the_lease_is_given_back_only_after_the_work_has_ended(self) -> None:
        async def test(scene: Scene) -> None:
            candidate, holders = scene.candidate(), []

            async def lead() -> None:
                try:
                    await asyncio.Event().wait()
                finally:
                    await asyncio.sleep(30)  # longer than a lease lasts: it is renewed meanwhile
                    holders.append((scene.stored()["holderIdentity"], candidate.leads))

            candidate.start(lead)
            await asyncio.sleep(1)
            await candidate.stop()
            assert holders == [("candidate-0", True)]
            assert scene.stored()["holderIdentity"] == ""

        play(test)


class TestHandOver:
    @pytest.mark.parametrize("seed", range(20))
    def test_a_lease_that_is_given_back_is_taken_at_once(self, seed: int) -> None:
        async def test(scene: Scene) -> None:
            scene.start(3)
            leader = await scene.leader()
            await asyncio.sleep(30)
            await leader.stop()
            ended = now()
            await scene.leader()
            assert now() - ended < 0.1

        play(test, seed=seed)

    @pytest.mark.parametrize("seed", range(20))
    def test_a_crash_costs_the_duration_and_no_more(self, seed: int) -> None:
        async def test(scene: Scene) -> None:
            scene.start(3)
            leader = await scene.leader()
            await asyncio.sleep(random.Random(seed).uniform(20, 30))
            crashed = now()
            await leader.kill()
            await scene.leader()
            assert DURATION - PERIOD - 0.1 <= now() - crashed <= DURATION + 0.1

        play(test, seed=seed)

    def test_a_leader_that_is_stopped_in_the_middle_of_a_renewal(self) -> None:
        """The renewal arrives, and nobody is there to hear its answer."""

        async def test(scene: Scene) -> None:
            [leader] = scene.start(1)
            other = scene.candidate()
            leader.line.delay = lambda _request: (0.1, 0.1)
            await asyncio.sleep(1)
            assert scene.leaders() == [leader]
            other.start()
            # It read and wrote the Lease until 0.4; the first renewal arrives 0.1 after it is sent.
            await asyncio.sleep(0.4 + PERIOD + 0.15 - now())
            await leader.stop()
            await asyncio.sleep(1)
            assert scene.leaders() == [other]

        play(test)

    def test_a_release_that_is_seen_while_an_older_answer_is_under_way(self) -> None:
        """The answer must not make the candidate wait for what it has seen to be over."""

        async def test(scene: Scene) -> None:
            [leader] = scene.start(1)
            await asyncio.sleep(1)
            waiting = scene.candidate()
            waiting.line.delay = lambda request: (0.0, 3.0 if NAME in request.path else 0.0)
            waiting.start()
            await asyncio.sleep(0.5)  # the answer "held" is on its way
            await leader.stop()
            ended = now()
            await scene.leader()
            assert waiting.leads
            assert now() - ended < 10

        play(test)


class TestLoss:
    @pytest.mark.parametrize("seed", range(20))
    def test_an_unreachable_leader_has_stopped_before_another_leads(self, seed: int) -> None:
        async def test(scene: Scene) -> None:
            scene.start(3)
            leader = await scene.leader()
            await asyncio.sleep(random.Random(seed).uniform(20, 30))
            leader.line.cut = True
            cut = now()
            while leader.leads:
                await asyncio.sleep(0.05)
            assert DEADLINE - PERIOD - 0.1 <= now() - cut <= DEADLINE + 0.1
            await asyncio.sleep(0.1)
            assert not leader.at_work
            other = await scene.leader()
            assert other.began[0] - leader.ended[0] >= DURATION - DEADLINE - PERIOD - 0.2
            assert leader.election.error == "the line is cut"

        play(test, seed=seed)

    def test_a_candidate_stands_again_when_the_server_is_back(self) -> None:
        async def test(scene: Scene) -> None:
            [candidate] = scene.start(1)
            await asyncio.sleep(1)
            candidate.line.cut = True
            await asyncio.sleep(30)
            assert scene.leaders() == []
            candidate.line.cut = False
            await asyncio.sleep(5)
            assert scene.leaders() == [candidate]
            assert len(candidate.began) == 2
            assert candidate.election.error is None

        play(test)

    @pytest.mark.parametrize("moment", Moment)
    def test_a_lost_renewal_is_made_up_for(self, moment: Moment) -> None:
        async def test(scene: Scene) -> None:
            [candidate] = scene.start(1)
            for _ in range(5):
                await asyncio.sleep(20)
                scene.api.faults.fail_next(lambda request: request.method == "PUT", moment)
            await asyncio.sleep(20)
            assert candidate.leads
            assert candidate.election.transitions == 1

        play(test)

    def test_an_answer_that_comes_too_late_makes_no_leader(self) -> None:
        """The work of a leader that leads no more must not even begin (`Scene.check`)."""

        async def test(scene: Scene) -> None:
            late, other = scene.candidate(), scene.candidate()
            late.line.delay = lambda request: (0.0, 20.0 if request.method == "POST" else 0.0)
            late.start()
            await asyncio.sleep(1)
            other.start()
            await asyncio.sleep(30)
            assert scene.leaders() == [other]
            assert late.began == []

        play(test)

    def test_a_leader_that_was_stopped_knows_it_when_asked(self) -> None:
        """Time passes and nothing runs: a stopped process, or a stuck event loop."""

        async def test(scene: Scene) -> None:
            [candidate] = scene.start(1)
            await asyncio.sleep(1)
            assert scene.leaders() == [candidate]
            vars(asyncio.get_running_loop())["_now"] += DEADLINE
            assert scene.leaders() == []

        play(test)


class TestDeletedLease:
    def test_the_holder_creates_a_deleted_lease_again(self) -> None:
        async def test(scene: Scene) -> None:
            [candidate] = scene.start(1)
            await asyncio.sleep(5)
            await scene.client.delete(LEASES, NAME, NS)
            await asyncio.sleep(5)
            assert candidate.leads
            assert scene.stored()["holderIdentity"] == "candidate-0"

        play(test)

    def test_a_holder_that_cannot_be_reached_is_waited_for(self) -> None:
        async def test(scene: Scene) -> None:
            leader, _ = scene.start(2)
            await scene.leader()
            leader = scene.leaders()[0]
            await asyncio.sleep(20.5)
            leader.line.cut = True
            await scene.client.delete(LEASES, NAME, NS)
            deleted = now()
            while leader.leads:
                await asyncio.sleep(0.1)
            other = await scene.leader()
            assert other is not leader
            assert now() - deleted <= DURATION + 0.1

        play(test)

    def test_a_claim_for_longer_than_any_candidate_makes_ends(self) -> None:
        async def test(scene: Scene) -> None:
            scene.start(2)
            await scene.leader()
            most = 2**31 - 1
            forged: Json = {"leaseDurationSeconds": most, "leaseTransitions": most}
            forged["holderIdentity"] = "someone"
            await scene.client.patch(LEASES, {"spec": forged}, NAME, NS)
            edited = now()
            await asyncio.sleep(DURATION)
            assert scene.leaders() == []
            await scene.leader(within=70)
            assert now() - edited <= 4 * DURATION + 3
            assert scene.stored()["leaseTransitions"] == most

        play(test)

    @pytest.mark.parametrize("seed", range(15))
    def test_there_is_one_leader_again_and_never_two(self, seed: int) -> None:
        async def test(scene: Scene) -> None:
            rng = random.Random(seed)
            scene.api.faults.delay_watches(0, 5)
            scene.start(3)
            for _ in range(5):
                await asyncio.sleep(rng.uniform(30, 60))
                assert len(scene.leaders()) == 1
                for each in scene.candidates:
                    each.line.cut = rng.random() < 0.3
                await scene.client.delete(LEASES, NAME, NS)
                await asyncio.sleep(rng.uniform(0, 20))
                for each in scene.candidates:
                    each.line.cut = False

        play(test, seed=seed)


class Chaos:
    """Candidates that come and go over lines that fail, and a server that loses answers."""

    def __init__(self, scene: Scene, rng: random.Random) -> None:
        self._scene = scene
        self._rng = rng
        self._running: list[Candidate] = []
        self.crashes = 0

    def begin(self) -> None:
        candidate = self._scene.candidate()
        candidate.line.delay = self._delay
        candidate.start()
        self._running.append(candidate)

    def _delay(self, _request: Request) -> tuple[float, float]:
        there, back = self._rng.choices([0, 0.1, 1, 5, 15], [20, 5, 2, 1, 1], k=2)
        return there, back

    async def step(self) -> None:
        faults = self._scene.api.faults
        one = self._rng.choice(self._scene.leaders() or self._running)
        match self._rng.choice(["crash", "stop", "cut", "mend", "break", "expire", "nothing"]):
            case "crash":
                await one.kill()
                self._replace(one)
                self.crashes += 1
            case "stop":
                await one.stop()
                self._replace(one)
            case "cut":
                one.line.cut = True
            case "mend":
                self._mend()
            case "break":
                faults.break_watches(midway=True)
            case "expire":
                faults.expire()

    def _replace(self, candidate: Candidate) -> None:
        self._running.remove(candidate)
        self.begin()

    def _mend(self) -> None:
        for each in self._running:
            each.line.cut = False

    def heal(self) -> None:
        self._mend()
        self._scene.api.faults.heal()
        for each in self._running:
            each.line.delay = lambda _request: (0.0, 0.0)


@pytest.mark.parametrize("seed", range(100))
def test_whatever_goes_wrong_at_most_one_leads_and_in_the_end_one_does(seed: int) -> None:
    async def test(scene: Scene) -> None:
        rng = random.Random(seed)
        chaos = Chaos(scene, rng)
        for _ in range(3):
            chaos.begin()
        faults = scene.api.faults
        faults.delay_watches(0, 3)
        for moment in Moment:
            faults.fail_randomly(0.1, moment)
        for _ in range(20):
            await asyncio.sleep(rng.choice([1, 5, 10, 20]))
            await chaos.step()
        chaos.heal()
        await asyncio.sleep(60)
        assert len(scene.leaders()) == 1
        assert sum(len(each.began) for each in scene.candidates) > 3

    play(test, seed=seed)


@pytest.mark.parametrize(
    ("duration", "deadline", "period"),
    [(10, 10, 2), (10, 15, 2), (15, 2, 2), (15, 2, 10), (15, 10, 0), (15, 10, -1)],
)
def test_a_timing_with_which_two_could_lead_is_refused(
    duration: float, deadline: float, period: float
) -> None:
    with pytest.raises(ValueError, match="duration > renew_deadline > retry_period > 0"):
        Timing(duration, deadline, period)
