"""ps.layers: parameters, FLOPs and latency of each module, and a model that is unchanged afterwards."""

import copy
import json
import random

import numpy as np
import penstock as ps
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; run scripts/python_environment.sh")
nn = torch.nn
torch.set_num_threads(1)  # the models are tiny, and other tests use the cores

BATCH = 2


def conv_net():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.Sequential(nn.Conv2d(8, 4, 1), nn.Dropout(0.5)),
        nn.Flatten(),
        nn.Linear(4 * 8 * 8, 10),
    )


def photographs():
    return torch.randn(BATCH, 3, 16, 16)


class Twice(nn.Module):
    """Calls one module twice, has another name for it, and one module that it never calls."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.again = self.first
        self.unused = nn.Linear(6, 3)

    def forward(self, x):
        return self.again(torch.relu(self.first(x)))


# ---- Figures ---------------------------------------------------------------------------------------------------------


def test_flops_equal_those_computed_by_hand():
    found = ps.layers(conv_net(), photographs(), repeats=1)
    first = 2 * BATCH * 8 * (8 * 8) * 3 * (3 * 3)  # a multiply and an add for each output and each weight behind it
    second = 2 * BATCH * 4 * (8 * 8) * 8
    linear = 2 * BATCH * (4 * 8 * 8) * 10
    assert found["0"].forward_flops == first
    assert found["0"].backward_flops == first  # the input requires no gradient
    assert (found["3"].forward_flops, found["3"].backward_flops) == (second, 2 * second)
    assert (found["3.0"].forward_flops, found["3.0"].backward_flops) == (second, 2 * second)
    assert (found["5"].forward_flops, found["5"].backward_flops) == (linear, 2 * linear)
    assert (found["1"].forward_flops, found["1"].backward_flops) == (0, 0)
    assert found[""].forward_flops == first + second + linear
    assert found[""].backward_flops == first + 2 * second + 2 * linear


MODELS = {
    "convolutions": (conv_net, photographs),
    "attention": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 24, batch_first=True), 2),
        lambda: torch.randn(BATCH, 5, 16),
    ),
    "linear with a gradient of the input": (
        lambda: nn.Sequential(nn.Linear(4, 7), nn.Tanh(), nn.Sequential(nn.Linear(7, 7), nn.Linear(7, 2))),
        lambda: torch.randn(BATCH, 4, requires_grad=True),
    ),
}


def counted(model, given):
    """FLOPs by FlopCounterMode's names: forward, and with backward."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        output = model(*given) if isinstance(given, tuple) else model(given)
        forward = {path: sum(counts.values()) for path, counts in counter.get_flop_counts().items()}
        output.sum().backward()
    return forward, {path: sum(counts.values()) for path, counts in counter.get_flop_counts().items()}


@pytest.mark.parametrize("name", MODELS)
def test_flops_of_each_module_equal_those_of_flop_counter_mode(name):
    model, given = MODELS[name][0](), MODELS[name][1]()
    found = ps.layers(model, given, repeats=0)
    forward, both = counted(model, given)
    kind = type(model).__name__
    for row in found.rows:
        path = f"{kind}.{row.name}" if row.name else kind
        if row.calls:
            assert row.forward_flops == forward.get(path, 0), path
            assert row.forward_flops + row.backward_flops == both.get(path, 0), path
    assert found[""].forward_flops + found[""].backward_flops == both["Global"] > 0


def test_flops_of_modules_with_two_inputs_add_up_to_those_of_flop_counter_mode():
    """FlopCounterMode adds the backward FLOPs of a decoder's layers to other modules, too, so it is right only in sum."""
    model, given = nn.Transformer(16, 2, 1, 2, 24, batch_first=True), (torch.randn(2, 5, 16), torch.randn(2, 3, 16))
    found = ps.layers(model, given, repeats=0)
    forward, both = counted(model, given)
    for row in found.rows:
        if row.calls:
            assert row.forward_flops == forward.get(f"Transformer.{row.name}".rstrip("."), 0), row.name
    assert found[""].backward_flops == both["Global"] - forward["Global"]
    assert found[""].backward_flops == found["encoder"].backward_flops + found["decoder"].backward_flops
    first, second = found["decoder.layers.0"], found["decoder.layers.1"]
    assert found["decoder"].backward_flops == first.backward_flops + second.backward_flops
    assert second.backward_flops == 2 * second.forward_flops  # the first layer's input requires no gradient


def test_parameters_are_those_of_the_modules():
    model = conv_net()
    model[5].bias.requires_grad_(False)
    found = ps.layers(model, photographs(), repeats=0)
    modules = dict(model.named_modules())
    assert [row.name for row in found.rows] == list(modules)
    for row in found.rows:
        module = modules[row.name]
        assert row.type == type(module).__name__
        assert row.parameters == sum(each.numel() for each in module.parameters())
        assert row.own_parameters == sum(each.numel() for each in module.parameters(recurse=False))
        assert row.trained_parameters == sum(each.numel() for each in module.parameters() if each.requires_grad)
    assert found[""].parameters - found[""].trained_parameters == 10


def test_tied_parameters_count_once_in_the_sum():
    model = nn.Sequential(nn.Linear(5, 5, bias=False), nn.Linear(5, 5, bias=False))
    model[1].weight = model[0].weight
    found = ps.layers(model, torch.randn(BATCH, 5), repeats=1)
    assert [row.parameters for row in found.rows] == [25, 25, 25]


def test_a_module_that_is_called_twice_counts_twice_and_one_that_is_not_called_says_so():
    found = ps.layers(Twice(), torch.randn(BATCH, 6), repeats=1)
    assert (found["first"].calls, found["first"].also) == (2, ("again",))
    assert found["again"] is found["first"]
    assert found["first"].forward_flops == 2 * (2 * BATCH * 6 * 6) == found[""].forward_flops
    unused = found["unused"]
    assert (unused.calls, unused.forward_ms, unused.backward_ms, unused.forward_flops) == (0, None, None, 0)
    assert unused.parameters == 21 and unused.step_ms is not None
    [line] = [line for line in str(found).splitlines() if line.strip().startswith("unused")]
    assert line.endswith("not called")
    [line] = [line for line in str(found).splitlines() if line.strip().startswith("first")]
    assert line.endswith("2 calls, also again")


def test_a_module_inside_of_itself_counts_once():
    class Countdown(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x, left=2):
            return self(self.linear(x), left - 1) if left else x

    found = ps.layers(Countdown(), torch.randn(BATCH, 4), repeats=2)
    assert (found[""].calls, found["linear"].calls) == (3, 2)
    assert found[""].forward_flops == found["linear"].forward_flops == 2 * (2 * BATCH * 4 * 4)
    assert found[""].backward_flops == found["linear"].backward_flops > 0
    assert found[""].backward_ms >= found["linear"].backward_ms


def test_times_of_children_are_within_their_parents():
    found = ps.layers(conv_net(), photographs(), repeats=1)  # of one run, since medians need not add up
    top = [found[str(number)] for number in range(6)]
    for row in [*top, found["3.0"], found["3.1"]]:
        assert row.forward_ms > 0 and row.backward_ms > 0, row
    assert found[""].forward_ms >= sum(row.forward_ms for row in top)
    assert found[""].backward_ms == pytest.approx(sum(row.backward_ms for row in top))
    assert found["3"].backward_ms == pytest.approx(found["3.0"].backward_ms + found["3.1"].backward_ms)
    assert found[""].step_ms == pytest.approx(sum(row.step_ms for row in top if row.step_ms is not None))
    assert found["2"].step_ms is None and found["4"].step_ms is None


def test_the_time_of_a_module_is_its_own():
    class Sleeps(nn.Module):
        def __init__(self, forward, backward):
            super().__init__()
            self.times = forward, backward

        def forward(self, x):
            return _Sleep.apply(x, *self.times)

    class _Sleep(torch.autograd.Function):
        @staticmethod
        def forward(context, x, forward, backward):
            import time

            time.sleep(forward)
            context.backward = backward
            return x.clone()

        @staticmethod
        def backward(context, gradient):
            import time

            time.sleep(context.backward)
            return gradient, None, None

    model = nn.Sequential(nn.Linear(2, 2), Sleeps(0.02, 0.0), nn.Sequential(Sleeps(0.0, 0.04)))
    found = ps.layers(model, torch.randn(BATCH, 2), repeats=3)
    assert found["1"].forward_ms >= 20 and found["2.0"].backward_ms >= 40 and found["2"].backward_ms >= 40
    assert found[""].forward_ms >= 20 and found[""].backward_ms >= 40
    assert found.totals["forward_ms"] >= 20 and found.totals["backward_ms"] >= 40
    assert found["1"].backward_ms < found["2"].backward_ms and found["2"].forward_ms < found["1"].forward_ms


# ---- State -----------------------------------------------------------------------------------------------------------


class Restless(nn.Module):
    """Changes everything that a module may change in a forward pass."""

    def __init__(self):
        super().__init__()
        self.linear = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4))
        self.norm = nn.BatchNorm1d(4)
        self.dropout = nn.Dropout(0.5)
        self.scale = nn.Parameter(torch.ones(4))
        self.register_buffer("seen", torch.zeros(()))
        self.register_buffer("last", torch.zeros(4), persistent=False)
        self.steps = 0

    def forward(self, x):
        self.steps += 1
        self.memory = x
        self.seen += 1
        self.last = x.mean(0).detach()
        with torch.no_grad():
            self.scale.mul_(1.5)
        noise = random.random() + np.random.rand()
        return self.dropout(self.norm(self.linear(x))) * self.scale + noise


def numbers_of(model):
    return {
        name: tensor.detach().clone()
        for name, tensor in [*model.named_parameters(), *model.named_buffers(), *model.state_dict().items()]
    }


def draws():
    return torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()


@pytest.mark.parametrize("training", [True, False])
def test_the_model_and_the_random_generators_are_unchanged(training):
    model = Restless().train(training)
    model.dropout.eval()
    model.scale.grad = torch.full((4,), 3.0)
    calls = []
    model.norm.register_forward_hook(lambda *_: calls.append("hook"))
    before, attributes, gradient = numbers_of(model), set(vars(model)), model.scale.grad
    modes = [module.training for module in model.modules()]
    hooks = [(dict(module._forward_hooks), dict(module._forward_pre_hooks)) for module in model.modules()]
    torch_state, python_state, numpy_state = draws()
    given = torch.randn(BATCH, 4, requires_grad=True, generator=torch.Generator().manual_seed(1))
    seen = given.detach().clone()

    found = ps.layers(model, given, repeats=2)

    assert found["dropout"].calls == 1 and calls
    after = numbers_of(model)
    assert after.keys() == before.keys()
    for name, tensor in before.items():
        assert torch.equal(after[name], tensor), name
    assert model.steps == 0 and set(vars(model)) == attributes
    assert model.scale.grad is gradient and torch.equal(gradient, torch.full((4,), 3.0))
    assert all(parameter.grad is None for name, parameter in model.named_parameters() if name != "scale")
    assert [module.training for module in model.modules()] == modes
    assert [(dict(module._forward_hooks), dict(module._forward_pre_hooks)) for module in model.modules()] == hooks
    now = draws()
    assert torch.equal(now[0], torch_state) and now[1] == python_state and np.array_equal(now[2], numpy_state)
    assert torch.equal(given, seen) and given.grad is None


def test_a_training_continues_as_without_it():
    def train(measure):
        torch.manual_seed(0)
        model = conv_net()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        for step in range(3):
            if measure:
                ps.layers(model, photographs_of_step(step), optimizer=optimizer, repeats=1)
            optimizer.zero_grad()
            model(photographs_of_step(step)).square().mean().backward()
            optimizer.step()
        return numbers_of(model), optimizer.state_dict()

    def photographs_of_step(step):
        return torch.randn(BATCH, 3, 16, 16, generator=torch.Generator().manual_seed(step))

    (plain, plain_state), (measured, measured_state) = train(False), train(True)
    for name, tensor in plain.items():
        assert torch.equal(measured[name], tensor), name
    assert repr(measured_state) == repr(plain_state)


def test_an_error_of_the_model_leaves_it_unchanged():
    class Fails(Restless):
        def forward(self, x):
            super().forward(x)
            raise KeyError("no such row")

    model = Fails()
    before = numbers_of(model)
    with pytest.raises(KeyError, match="no such row"):
        ps.layers(model, torch.randn(BATCH, 4))
    assert all(torch.equal(tensor, before[name]) for name, tensor in numbers_of(model).items())
    assert all(not module._forward_hooks and not module._forward_pre_hooks for module in model.modules())


# ---- Inputs ----------------------------------------------------------------------------------------------------------


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, first, rest=None, *, scale=1.0):
        if isinstance(first, dict):
            first = first["rows"][0]
        for each in rest or []:
            first = first + each["rows"]
        return {"out": [self.linear(first) * scale], "count": 3}


@pytest.mark.parametrize(
    "given",
    [
        torch.ones(BATCH, 3),
        (torch.ones(BATCH, 3),),
        (torch.ones(BATCH, 3), [{"rows": torch.ones(BATCH, 3)}]),
        {"first": torch.ones(BATCH, 3), "scale": 2.0},
        ({"rows": (torch.ones(BATCH, 3),)},),
    ],
    ids=["tensor", "tuple", "nested", "keywords", "one dict"],
)
def test_inputs_may_be_nested(given):
    found = ps.layers(Nested(), given, repeats=1)
    assert found["linear"].forward_flops == 2 * BATCH * 3 * 3 == found["linear"].backward_flops
    assert found["linear"].forward_ms > 0


def test_a_loss_begins_the_backward_pass():
    found = ps.layers(Nested(), torch.ones(BATCH, 3), loss=lambda output: output["out"][0].square().mean(), repeats=1)
    assert found["linear"].backward_flops == 2 * BATCH * 3 * 3


def test_a_model_without_gradients_has_no_backward():
    model = conv_net().requires_grad_(False)
    with torch.no_grad():
        found = ps.layers(model, photographs(), repeats=1)
    assert found[""].forward_ms > 0 and found[""].backward_flops == 0 and found[""].step_ms is None
    assert found[""].backward_ms is None and found.totals["backward_ms"] is None
    assert "no backward: nothing requires a gradient" in str(found)


def test_gradients_are_measured_within_no_grad():
    model = conv_net()
    for context in (torch.no_grad, torch.inference_mode):
        with context():
            assert ps.layers(model, photographs(), repeats=1)[""].backward_ms > 0
            assert not torch.is_grad_enabled()


def test_a_model_on_the_meta_device_has_figures_without_memory():
    with torch.device("meta"):
        model, given = nn.Linear(100_000, 100_000), torch.ones(4, 100_000)
    found = ps.layers(model, given)
    assert found[""].forward_flops == 2 * 4 * 100_000**2 and found[""].forward_ms is None
    assert str(found).endswith("no latency: tensors of the device meta have no data\n")


def test_an_optimizer_is_used_by_its_class_and_options():
    model = conv_net()
    given = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    state = copy.deepcopy(given.state_dict())
    found = ps.layers(model, photographs(), optimizer=given, repeats=1)
    assert found.totals["optimizer"] == "SGD" and found[""].step_ms > 0
    assert given.state_dict() == state
    assert ps.layers(model, photographs(), repeats=1).totals["optimizer"] == "AdamW"


def test_wrong_arguments_are_errors():
    with pytest.raises(TypeError, match=r"must be a torch\.nn\.Module, not int"):
        ps.layers(3, photographs())
    with pytest.raises(ps.Error, match="lazy parameters"):
        ps.layers(nn.LazyLinear(3), photographs())
    with pytest.raises(ps.Error, match="repeats must be a number from 0, not -1"):
        ps.layers(conv_net(), photographs(), repeats=-1)


# ---- The table -------------------------------------------------------------------------------------------------------


def test_the_table_and_the_json_have_all_layers(tmp_path):
    found = ps.layers(conv_net(), photographs(), repeats=2)
    lines = str(found).splitlines()
    assert lines[0].split()[:3] == ["layer", "type", "parameters"]
    assert lines[1].startswith("(model)  ") and lines[6].startswith("    0 ") and lines[6].split()[1] == "Conv2d"
    assert len(lines) == 1 + len(found.rows) + 1 and "median of 2 runs" in lines[-1]
    assert len(found.table(depth=1).splitlines()) == len(lines) - 2  # without 3.0 and 3.1
    told = json.loads(found.to_json(tmp_path / "layers.json"))
    assert told == json.loads((tmp_path / "layers.json").read_text())
    assert [layer["name"] for layer in told["layers"]] == [row.name for row in found.rows]
    assert told["totals"]["repeats"] == 2 and told["layers"][0]["parameters"] == found[""].parameters
