"""The tables of `plan`."""

from tiltmeter.jobs.runtime.table import Table, doc, key, schemas
from tiltmeter.jobs.upkeep.compare.systems import OfPair


class OfJob(Table):
    """A column of both tables, which whoever plans a job does not know."""

    name: str = key("the job's name in the list of a night; of a plan of one job, that job", default="")


class Plan(OfJob, name="plan"):
    stage: str = key("what is done, or all that comes after it; empty: of a job that could not be planned")
    num_done: int | None = doc("units that the store has; null: not known", "units")
    num_missing: int | None = doc("units that would be done; null: not known", "units")
    worker_seconds: float | None = doc("about what workers would be at them, all together; null: not known", "seconds")
    seconds: float | None = doc("about what that takes on the workers of this cluster; null: not known", "seconds")
    num_workers: int = doc("workers that there would be", "workers")
    num_threads: int = doc("of each of them", "threads")
    memory_bytes: int = doc("that each worker asks for, as the largest of all stages does", "bytes")
    stored_bytes: float | None = doc("about what they would take in the store; null: not known", "bytes")
    basis: str = doc("what estimates come from: 'earlier runs in this store', 'rates for a first run' or empty")


class Differences(OfJob, name="plan_differences"):
    table: str = key("table of the numbers; empty before a first run")
    column: str = key("the numbers; empty before a first run: any number, in its own standard deviation")
    replicas: int = key("replicas or resamples of each side")
    is_planned: bool = doc("whether it is as many as are planned")
    num_numbers: int = doc("numbers with draws in the earlier run", "numbers")
    sd: float = doc("standard deviation of a number's draws, the middle one of all numbers")
    sd_paired: float | None = doc("the same of the difference of draws that two runs share; null: not known")
    smallest_unpaired: float = doc("found in 4 of 5 cases between runs that share no draws; infinite: none is")
    smallest_paired: float | None = doc("the same between runs that share draws; null: not known")
    basis: str = doc("runs that the standard deviations come from, or 'one standard deviation'")


class PlanItems(OfPair, name="plan_items"):
    correlation: float | None = key("taken, of the items' means of two systems; null: both logs say", default=None)
    num_items: int = key("that both systems would answer", "items")
    num_repeats: int = key("of each item by each system", "repeats")
    is_planned: bool = doc("whether there are as many items as are planned")
    sd: float | None = doc("standard error of the difference of both means")
    smallest_detectable: float | None = doc("true difference that is found in 4 of 5 cases, by the interval")
    wanted: float | None = doc("difference or margin that logs.wanted says; null: none")
    power: float | None = doc("chance that a true difference of that size is found", show="percent")
    items_wanted: int | None = doc("with which it is found in 4 of 5 cases", "items")
    pass_rate: float | None = doc("how often equal systems pass non-inferiority with it as the margin", show="percent")
    cluster_correlation: float | None = doc("of the true differences in a cluster; null without clusters")
    basis: str = doc("what the standard error comes from")


TABLES = schemas(Plan, Differences, PlanItems)
