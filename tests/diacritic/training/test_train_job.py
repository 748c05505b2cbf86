"""A training job is data: it survives JSON, and every part that decides the outcome decides its name."""

import json
from dataclasses import asdict, replace

import pytest
import torch

from certify.errors import UserError
from diacritic.training.cohort import Run
from diacritic.training.train_job import TrainJob

JOB = TrainJob("short", "0" * 64, 24, "plain+bfs", "carousel", 4, 16, (Run(3), Run(1, 0.0), Run(3, 0.1)))


def test_it_survives_json():
    later = replace(JOB, start=(("former", 0), ("former", 2), ("other", 0)))
    for train_job in (JOB, later):
        assert TrainJob.from_dict(json.loads(json.dumps(asdict(train_job)))) == train_job
    assert later.formers == {"former", "other"}
    with pytest.raises(UserError, match="2 starts for 3 runs"):
        TrainJob.from_dict(json.loads(json.dumps(asdict(replace(later, start=later.start[:2])))))


def test_an_addition_that_is_not_used_leaves_names_as_they_were():
    assert JOB.name.endswith("-5da7f924feb7")


def test_every_part_decides_the_name():
    changes = {
        "recording": "long",
        "demos_sha256": "1" * 64,
        "demonstrations": 25,
        "learner": "plain",
        "preset": "release",
        "steps": 5,
        "codes": 8,
        "runs": (Run(3),),
        "forecaster_steps": 7,
        "misled": 0.25,
        "start": (("former", 0), ("former", 2), ("other", 0)),
        "low": False,
    }
    assert changes.keys() == asdict(JOB).keys()
    names = {replace(JOB, **{key: value}).name for key, value in changes.items()}
    assert len(names | {JOB.name}) == len(changes) + 1
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_.") for name in names)


def test_runs_of_one_seed_share_a_forecaster():
    assert JOB.seeds == (1, 3)


def test_low_precision_is_for_cuda_alone_with_either_gradient():
    for train_job in (JOB, replace(JOB, preset="release"), replace(JOB, preset="release", learner="full-history")):
        assert train_job.plan(2, "cuda").low == (torch.bfloat16 if train_job is JOB else torch.float32)
        assert train_job.plan(2, "cpu").low is None
        assert replace(train_job, low=False).plan(2, "cuda").low is None


def test_an_unknown_train_job_is_refused():
    with pytest.raises(UserError, match="lacks 'recording'"):
        TrainJob.from_dict({"learner": "plain"})
