"""What the server can do: one function for each action, from a request to a result.

    result = await translate(engine, TranslateRequest(segments=["das haus"]), Call())

`/api/v1/…` writes the result as JSON and `/view/…` draws it: `toledo.serve.api.endpoint(ACTION, write)` makes both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from toledo.serve.call import Call
from toledo.serve.choosing import choose_segments
from toledo.serve.combining import combine_systems
from toledo.serve.comparing import plot_of, scores_of, segments_of, start_comparison
from toledo.serve.documents import start_documents
from toledo.serve.drawing import window_of
from toledo.serve.histories import list_runs, show_run
from toledo.serve.translating import decide_again, start_translation, translate_segments
from toledo.serve.types import (
    Answer,
    Ask,
    ChooseRequest,
    ChooseResult,
    CombineRequest,
    CombineResult,
    DecideRequest,
    DecideResult,
    ForestRequest,
    ForestWindow,
    TranslateRequest,
    TranslateResult,
)
from toledo.serve.work_types import (
    AboutResult,
    CompareRequest,
    DocumentsRequest,
    JobResult,
    JobStarted,
    PlotRequest,
    PlotResult,
    RunResult,
    RunsRequest,
    RunsResult,
    ScoresRequest,
    ScoresResult,
    SegmentsRequest,
    SegmentsResult,
)

if TYPE_CHECKING:
    from toledo.serve.engine import Engine

Q = TypeVar("Q", bound=Ask | None)
R = TypeVar("R", bound=Answer)
Path = dict[str, str]  # the named parts of an address: "id", "kind"


async def about(engine: Engine, request: None, call: Call, path: Path) -> AboutResult:
    """Say what is served: models, rules, metrics, limits."""
    return engine.about()


async def translate(engine: Engine, request: TranslateRequest, call: Call, path: Path) -> TranslateResult:
    """Translate segments and decide by all rules asked for; forests are kept if the request says so."""
    return await translate_segments(engine, request, call)


async def translate_job(engine: Engine, request: TranslateRequest, call: Call, path: Path) -> JobStarted:
    """Translate as a job."""
    return await start_translation(engine, request)


async def decide(engine: Engine, request: DecideRequest, call: Call, path: Path) -> DecideResult:
    """Decide again on the kept forest `id`, without a search."""
    return await decide_again(engine, path["id"], request, call)


async def forest_window(engine: Engine, request: ForestRequest, call: Call, path: Path) -> ForestWindow:
    """Return a window of the drawing of the kept forest `id`."""
    return await asyncio.to_thread(window_of, engine, path["id"], request)


async def choose(engine: Engine, request: ChooseRequest, call: Call, path: Path) -> ChooseResult:
    """Choose among the samples of each segment."""
    return await choose_segments(engine, request, call)


async def combine(engine: Engine, request: CombineRequest, call: Call, path: Path) -> CombineResult:
    """Combine the outputs of systems."""
    return await combine_systems(engine, request, call)


async def documents(engine: Engine, request: DocumentsRequest, call: Call, path: Path) -> JobStarted:
    """Start a document search as a job, whose result is a `DocumentsResult`."""
    return await start_documents(engine, request)


async def compare(engine: Engine, request: CompareRequest, call: Call, path: Path) -> JobStarted:
    """Start a comparison as a job, whose result is a `KeptComparison`."""
    return await start_comparison(engine, request)


async def compare_scores(engine: Engine, request: ScoresRequest, call: Call, path: Path) -> ScoresResult:
    """Score what the filter leaves of the comparison `id`."""
    return await asyncio.to_thread(scores_of, engine.comparisons.get(path["id"]), path["id"], request)


async def compare_segments(engine: Engine, request: SegmentsRequest, call: Call, path: Path) -> SegmentsResult:
    """Return a window of the segments that the filter leaves of the comparison `id`."""
    return await asyncio.to_thread(segments_of, engine.comparisons.get(path["id"]), path["id"], request)


async def compare_plot(engine: Engine, request: PlotRequest, call: Call, path: Path) -> PlotResult:
    """Return the plot `kind` (differences, lengths, grams) of what the filter leaves of the comparison `id`."""
    kept = engine.comparisons.get(path["id"])
    return await asyncio.to_thread(plot_of, kept, path["id"], path["kind"], request)


async def runs(engine: Engine, request: RunsRequest, call: Call, path: Path) -> RunsResult:
    """List the runs that are there."""
    return await asyncio.to_thread(list_runs, engine, request)


async def run(engine: Engine, request: None, call: Call, path: Path) -> RunResult:
    """Return the run `id` round by round."""
    return await asyncio.to_thread(show_run, engine, path["id"])


async def job(engine: Engine, request: None, call: Call, path: Path) -> JobResult:
    """Return the state of the job `id`."""
    return engine.jobs.get(path["id"]).about()


async def stop_job(engine: Engine, request: None, call: Call, path: Path) -> JobResult:
    """Stop the job `id`."""
    return engine.jobs.stop(path["id"]).about()


@dataclass(frozen=True)
class Action(Generic[Q, R]):
    """A function with the types of what it is asked and what it answers; None: it is asked by its address alone.

    Requests of GET are read from the query, others from the body.
    """

    method: str
    path: str  # below /api/v1
    run: Callable[[Engine, Q, Call, Path], Awaitable[R]]
    request: type[Any] | None
    result: type[Any]
    status: int = 200


ABOUT = Action("GET", "/about", about, None, AboutResult)
TRANSLATE = Action("POST", "/translate", translate, TranslateRequest, TranslateResult)
TRANSLATE_JOB = Action("POST", "/translate", translate_job, TranslateRequest, JobStarted, status=202)
DECIDE = Action("POST", "/forests/{id}/decide", decide, DecideRequest, DecideResult)
FOREST = Action("GET", "/forests/{id}", forest_window, ForestRequest, ForestWindow)
CHOOSE = Action("POST", "/choose", choose, ChooseRequest, ChooseResult)
COMBINE = Action("POST", "/combine", combine, CombineRequest, CombineResult)
DOCUMENTS = Action("POST", "/documents", documents, DocumentsRequest, JobStarted, status=202)
COMPARE = Action("POST", "/compare", compare, CompareRequest, JobStarted, status=202)
COMPARE_SCORES = Action("GET", "/compare/{id}/scores", compare_scores, ScoresRequest, ScoresResult)
COMPARE_SEGMENTS = Action("GET", "/compare/{id}/segments", compare_segments, SegmentsRequest, SegmentsResult)
COMPARE_PLOT = Action("GET", "/compare/{id}/plots/{kind}", compare_plot, PlotRequest, PlotResult)
RUNS = Action("GET", "/runs", runs, RunsRequest, RunsResult)
RUN = Action("GET", "/runs/{id}", run, None, RunResult)
JOB = Action("GET", "/jobs/{id}", job, None, JobResult)
STOP_JOB = Action("DELETE", "/jobs/{id}", stop_job, None, JobResult)

ACTIONS: tuple[Action[Any, Any], ...] = (
    ABOUT, TRANSLATE, DECIDE, FOREST, CHOOSE, COMBINE, DOCUMENTS, COMPARE, COMPARE_SCORES, COMPARE_SEGMENTS,
    COMPARE_PLOT, RUNS, RUN, JOB, STOP_JOB,
)  # fmt: skip
