//! Several optimizers over one module, one over several modules, groups within an optimizer.

mod support;

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamWConfig, GradientsParams, SgdConfig};
use burn::tensor::{Device, Tensor};
use burn_fabric::prelude::*;
use burn_fabric::{PatternProblem, StepReport};
use support::{Mlp, fabric, input, model, values};

#[test]
fn two_optimizers_over_two_parts_step_as_two_would() {
    let fabric = fabric();
    let (mut parts, mut whole) = (model(&fabric), model(&fabric));
    parts.reset_parameters(3).unwrap();
    whole.reset_parameters(3).unwrap();
    let of = |part: &str| parts.parameters().only([part]);
    let mut hidden = fabric
        .setup_optimizer(&of("hidden"), SgdConfig::new())
        .unwrap();
    let mut output = fabric
        .setup_optimizer(&of("output"), AdamWConfig::new())
        .unwrap();
    let groups = ParameterGroups::new(SgdConfig::new()).with(
        ParameterGroup::of(["output"])
            .optimizer(AdamWConfig::new())
            .rate(1e-3),
    );
    let mut both = fabric.setup_optimizer(&whole, groups).unwrap();
    let x = input(fabric.device());
    let start = values(&*parts);
    for _ in 0..5 {
        // One backward serves both: each takes its own gradients and leaves the others.
        let mut gradients = fabric.backward(parts.loss(&x), &parts).unwrap();
        let report = hidden.step(0.1, &mut parts, &mut gradients).unwrap();
        assert_eq!(
            report,
            StepReport {
                updated: 1,
                overflowed: Vec::new(),
                without_gradient: Vec::new()
            }
        );
        assert_eq!(gradients.len(), 1);
        output.step(1e-3, &mut parts, gradients).unwrap();

        let gradients = fabric.backward(whole.loss(&x), &whole).unwrap();
        both.step(0.1, &mut whole, gradients).unwrap();
    }
    assert_eq!(values(&*parts), values(&*whole));
    assert_ne!(values(&*parts), start);
}

#[test]
fn groups_have_their_own_rate_and_decay() {
    let fabric = fabric();
    let decayed = AdamWConfig::new().with_weight_decay(0.5);
    // Group by group against a whole model with those settings.
    let groups = ParameterGroups::new(decayed.clone())
        .with(ParameterGroup::of(["output"]).decay(0.0).rate_factor(0.5));
    let mut grouped = model(&fabric);
    grouped.reset_parameters(3).unwrap();
    let (mut with_decay, mut without) = (model(&fabric), model(&fabric));
    with_decay.reset_parameters(3).unwrap();
    without.reset_parameters(3).unwrap();
    let mut optimizer = fabric.setup_optimizer(&grouped, groups).unwrap();
    let mut first = fabric.setup_optimizer(&with_decay, decayed).unwrap();
    let mut second = fabric
        .setup_optimizer(&without, AdamWConfig::new().with_weight_decay(0.0))
        .unwrap();
    let x = input(fabric.device());
    let gradients = |model: &FabricModule<Mlp>| fabric.backward(model.loss(&x), model).unwrap();
    let all = gradients(&grouped);
    optimizer.step(0.1, &mut grouped, all).unwrap();
    let all = gradients(&with_decay);
    first.step(0.1, &mut with_decay, all).unwrap();
    let all = gradients(&without);
    second.step(0.05, &mut without, all).unwrap();
    assert_eq!(
        grouped.hidden.weight.to_data(),
        with_decay.hidden.weight.to_data()
    );
    assert_eq!(
        grouped.output.weight.to_data(),
        without.output.weight.to_data()
    );
    assert_ne!(
        grouped.output.weight.to_data(),
        with_decay.output.weight.to_data()
    );
}

#[test]
fn the_last_group_that_matches_counts() {
    let fabric = fabric();
    let mut model = model(&fabric);
    let groups = ParameterGroups::new(SgdConfig::new())
        .with(ParameterGroup::of(["**.weight"]).rate(0.0))
        .with(ParameterGroup::of(["output"]).rate_factor(1.0));
    let mut optimizer = fabric.setup_optimizer(&model, groups).unwrap();
    let before = values(&*model);
    let gradients = fabric
        .backward(model.loss(&input(fabric.device())), &model)
        .unwrap();
    optimizer.step(0.1, &mut model, gradients).unwrap();
    assert_eq!(values(&*model)["hidden.weight"], before["hidden.weight"]);
    assert_ne!(values(&*model)["output.weight"], before["output.weight"]);
}

#[test]
fn every_pattern_has_to_govern_something() {
    let fabric = fabric();
    let meta = fabric.init_module(|device| {
        let mut mlp = Mlp::new(device);
        mlp.hidden = mlp.hidden.no_grad();
        mlp
    });
    let model = fabric.setup(meta.unwrap()).unwrap();
    let groups = ParameterGroups::new(SgdConfig::new())
        .with(ParameterGroup::of(["ouput.**", "a**b"]).rate(0.1))
        .with(ParameterGroup::of(["hidden"]).rate(0.1))
        .with(ParameterGroup::of(["output.weight"]).rate(0.1))
        .with(ParameterGroup::of(["output"]).rate(0.1));
    let error = fabric.setup_optimizer(&model, groups).unwrap_err();
    let FabricError::Patterns { problems } = &error else {
        panic!("{error}");
    };
    let has = |test: fn(&PatternProblem) -> bool| problems.iter().any(test);
    assert!(
        has(|problem| matches!(problem, PatternProblem::Invalid(_))),
        "{error}"
    );
    assert!(has(|problem| matches!(
        problem,
        PatternProblem::MatchesNothing { pattern, examples }
            if pattern == "ouput.**" && examples[0] == "output.weight"
    )));
    assert!(has(|problem| matches!(
        problem,
        PatternProblem::Frozen { frozen, .. } if frozen == &["hidden.weight"]
    )));
    assert!(has(|problem| matches!(
        problem,
        PatternProblem::Shadowed { pattern, .. } if pattern == "output.weight"
    )));
    assert_eq!(problems.len(), 4, "{error}");

    let part = model.parameters().only(["encoder"]);
    let error = fabric.setup_optimizer(&part, SgdConfig::new()).unwrap_err();
    assert!(matches!(error, FabricError::Patterns { .. }), "{error}");
}

#[test]
fn overlapping_optimizers_are_refused_until_the_first_is_gone() {
    let fabric = fabric();
    let mut model = model(&fabric);
    let first = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
    let part = model.parameters().only(["output"]);
    let error = fabric.setup_optimizer(&part, SgdConfig::new()).unwrap_err();
    assert!(
        matches!(&error, FabricError::Overlap { parameters } if parameters == &["output.weight"]),
        "{error}"
    );
    drop(first);
    let mut second = fabric.setup_optimizer(&part, SgdConfig::new()).unwrap();
    // What was refused holds nothing.
    assert!(fabric.setup_optimizer(&model, SgdConfig::new()).is_err());
    let rest = model.parameters().only(["hidden"]);
    assert!(fabric.setup_optimizer(&rest, SgdConfig::new()).is_ok());
    let gradients = fabric
        .backward(model.loss(&input(fabric.device())), &model)
        .unwrap();
    assert_eq!(second.step(0.1, &mut model, gradients).unwrap().updated, 1);
}

#[test]
fn one_optimizer_over_two_modules_steps_as_two_would() {
    let fabric = fabric();
    let linear = |inputs, outputs| {
        let config = LinearConfig::new(inputs, outputs);
        fabric
            .setup(fabric.init_module(|device| config.init(device)).unwrap())
            .unwrap()
    };
    let (mut encoder, mut decoder) = (linear(5, 3), linear(3, 5));
    let (mut one, mut other) = (linear(5, 3), linear(3, 5));
    encoder.reset_parameters(1).unwrap();
    one.reset_parameters(1).unwrap();
    decoder.reset_parameters(2).unwrap();
    other.reset_parameters(2).unwrap();
    let both = encoder.parameters().and(decoder.parameters());
    let mut joint = fabric.setup_optimizer(&both, AdamWConfig::new()).unwrap();
    let paths: Vec<&str> = joint.paths().collect();
    assert_eq!(paths, ["0.weight", "0.bias", "1.weight", "1.bias"]);
    let mut first = fabric.setup_optimizer(&one, AdamWConfig::new()).unwrap();
    let mut second = fabric.setup_optimizer(&other, AdamWConfig::new()).unwrap();
    let x = input(fabric.device());
    let loss = |encoder: &Linear, decoder: &Linear| {
        (decoder.forward(encoder.forward(x.clone()).tanh()) - x.clone())
            .powi_scalar(2)
            .mean()
    };
    for _ in 0..5 {
        let gradients = fabric
            .backward_joint(loss(&encoder, &decoder), (&encoder, &decoder))
            .unwrap();
        assert_eq!(gradients.len(), 4);
        joint
            .step_joint(1e-2, (&mut encoder, &mut decoder), gradients)
            .unwrap();
        let mut gradients = fabric
            .backward_joint(loss(&one, &other), (&one, &other))
            .unwrap();
        first.step(1e-2, &mut one, &mut gradients).unwrap();
        second.step(1e-2, &mut other, gradients).unwrap();
    }
    assert_eq!(values(&*encoder), values(&*one));
    assert_eq!(values(&*decoder), values(&*other));

    // One of both is not what the optimizer was made for.
    let gradients = fabric.backward(loss(&encoder, &decoder), &encoder).unwrap();
    let error = joint.step(1e-2, &mut encoder, gradients).unwrap_err();
    assert!(matches!(error, FabricError::OtherModule), "{error}");
}

#[test]
fn parameters_of_two_modules_under_one_id_are_refused() {
    let fabric = fabric();
    let student = model(&fabric);
    let teacher = fabric.setup(student.inference().unwrap()).unwrap();
    let both = student.parameters().and(teacher.parameters());
    let error = fabric.setup_optimizer(&both, SgdConfig::new()).unwrap_err();
    assert!(
        matches!(&error, FabricError::SharedId { paths } if paths[..2] == ["0.hidden.weight", "1.hidden.weight"]),
        "{error}"
    );
    let x = input(fabric.device());
    let loss = student.loss(&x) + teacher.loss(&x);
    let error = fabric
        .backward_joint(loss, (&student, &teacher))
        .unwrap_err();
    assert!(matches!(error, FabricError::SharedId { .. }), "{error}");
    // Each by itself is fine.
    assert!(fabric.setup_optimizer(&student, SgdConfig::new()).is_ok());
    assert!(fabric.setup_optimizer(&teacher, SgdConfig::new()).is_ok());
}

/// Two players in one module.
#[derive(Module, Materialize, ResetParameters, Debug)]
struct Gan {
    generator: Linear,
    critic: Linear,
}

impl Gan {
    fn new(device: &Device) -> Self {
        Self {
            generator: LinearConfig::new(5, 5).init(device),
            critic: LinearConfig::new(5, 1).init(device),
        }
    }

    fn fake(&self, noise: &Tensor<2>) -> Tensor<2> {
        self.generator.forward(noise.clone())
    }

    fn judge(&self, samples: Tensor<2>) -> Tensor<1> {
        self.critic.forward(samples).tanh().mean()
    }
}

#[test]
fn two_players_alternate_and_each_moves_only_itself() {
    let fabric = fabric();
    let mut gan = fabric.setup(fabric.init_module(Gan::new).unwrap()).unwrap();
    let of = |part: &str| gan.parameters().only([part]);
    let mut generates = fabric
        .setup_optimizer(&of("generator"), AdamWConfig::new())
        .unwrap();
    let mut criticises = fabric
        .setup_optimizer(&of("critic"), AdamWConfig::new())
        .unwrap();
    // The same game in plain Burn.
    let mut plain = gan.module().unwrap().clone();
    let (mut plain_generates, mut plain_criticises) =
        (AdamWConfig::new().init(), AdamWConfig::new().init());
    let noise = input(fabric.device());
    let real = noise.clone().powi_scalar(2);
    for _ in 0..4 {
        let before = values(&*gan);
        let loss = gan.judge(gan.fake(&noise).detach()) - gan.judge(real.clone());
        let gradients = fabric.backward(loss, &gan).unwrap();
        criticises.step(1e-2, &mut gan, gradients).unwrap();
        assert_eq!(
            values(&*gan)["generator.weight"],
            before["generator.weight"]
        );
        // The critic has gradients here too, and nobody takes them.
        let loss = -gan.judge(gan.fake(&noise));
        let gradients = fabric.backward(loss, &gan).unwrap();
        assert_eq!(gradients.len(), 4);
        generates.step(1e-2, &mut gan, gradients).unwrap();

        let loss = plain.judge(plain.fake(&noise).detach()) - plain.judge(real.clone());
        let gradients = GradientsParams::from_grads(loss.backward(), &plain.critic);
        plain.critic = plain_criticises.step(1e-2, plain.critic, gradients);
        let mut gradients = (-plain.judge(plain.fake(&noise))).backward();
        let gradients = GradientsParams::from_module(&mut gradients, &plain.generator);
        plain.generator = plain_generates.step(1e-2, plain.generator, gradients);
    }
    assert_eq!(values(&*gan), values(&plain));
}

#[test]
fn a_panic_in_a_joint_step_leaves_no_module_that_looks_whole() {
    use burn::optim::{AdamWState, Optimizer};
    #[derive(Clone)]
    struct Panics;
    impl Optimizer for Panics {
        type State<const D: usize> = AdamWState<D>;
        fn step<const D: usize>(
            &self,
            _: f64,
            _: Tensor<D>,
            _: Tensor<D>,
            _: Option<Self::State<D>>,
        ) -> (Tensor<D>, Option<Self::State<D>>) {
            panic!("the optimizer's own")
        }
        fn to_device<const D: usize>(state: Self::State<D>, _: &Device) -> Self::State<D> {
            state
        }
    }
    let fabric = fabric();
    let (mut first, mut second) = (model(&fabric), model(&fabric));
    let groups = ParameterGroups::new(SgdConfig::new())
        .with(ParameterGroup::of(["1"]).optimizer(burn_fabric::Custom(Panics)));
    let both = first.parameters().and(second.parameters());
    let mut optimizer = fabric.setup_optimizer(&both, groups).unwrap();
    let x = input(fabric.device());
    let loss = first.loss(&x) + second.loss(&x);
    let gradients = fabric.backward_joint(loss, (&first, &second)).unwrap();
    let step = std::panic::AssertUnwindSafe(|| {
        optimizer.step_joint(0.1, (&mut first, &mut second), gradients)
    });
    assert!(std::panic::catch_unwind(step).is_err());
    for module in [first.inference(), second.inference()] {
        assert!(matches!(module, Err(FabricError::Poisoned)));
    }
    let error = fabric
        .setup_optimizer(&first, SgdConfig::new())
        .unwrap_err();
    assert!(matches!(error, FabricError::Poisoned), "{error}");
}

#[test]
fn a_state_can_be_forgotten_by_path() {
    let fabric = fabric();
    let (mut forgets, mut fresh) = (model(&fabric), model(&fabric));
    fresh.reset_parameters(3).unwrap();
    forgets.reset_parameters(3).unwrap();
    let x = input(fabric.device());
    let mut optimizer = fabric
        .setup_optimizer(&forgets, AdamWConfig::new())
        .unwrap();
    let gradients = fabric.backward(forgets.loss(&x), &forgets).unwrap();
    optimizer.step(1e-2, &mut forgets, gradients).unwrap();
    forgets.reset_parameters(3).unwrap();
    optimizer.reset_state(|_| true);
    let gradients = fabric.backward(forgets.loss(&x), &forgets).unwrap();
    optimizer.step(1e-2, &mut forgets, gradients).unwrap();
    let mut new = fabric.setup_optimizer(&fresh, AdamWConfig::new()).unwrap();
    let gradients = fabric.backward(fresh.loss(&x), &fresh).unwrap();
    new.step(1e-2, &mut fresh, gradients).unwrap();
    assert_eq!(values(&*forgets), values(&*fresh));
}

#[test]
fn selections_narrow_and_join() {
    let fabric = fabric();
    let (first, second) = (model(&fabric), model(&fabric));
    let paths = |parameters: &burn_fabric::Parameters| {
        let optimizer = fabric.setup_optimizer(parameters, SgdConfig::new());
        optimizer.map(|optimizer| optimizer.paths().map(str::to_owned).collect::<Vec<_>>())
    };
    // Narrower and narrower.
    let narrowed = first.parameters().only(["hidden"]).only(["**.weight"]);
    assert_eq!(paths(&narrowed).unwrap(), ["hidden.weight"]);
    // Two parts of one module are no two modules.
    let parts = first
        .parameters()
        .only(["output"])
        .and(first.parameters().only(["hidden", "output"]));
    assert_eq!(paths(&parts).unwrap(), ["output.weight", "hidden.weight"]);
    // After a join, paths have numbers.
    let both = first.parameters().and(second.parameters());
    let some = both.clone().only(["0.hidden", "1.output"]);
    assert_eq!(
        paths(&some).unwrap(),
        ["0.hidden.weight", "1.output.weight"]
    );
    for wrong in [both.only(["hidden"]), first.parameters().only([""; 0])] {
        let error = paths(&wrong).unwrap_err();
        assert!(matches!(error, FabricError::Patterns { .. }), "{error}");
    }
}

#[test]
fn a_group_without_a_pattern_is_refused() {
    let fabric = fabric();
    let model = model(&fabric);
    let groups = ParameterGroups::new(SgdConfig::new()).with(ParameterGroup::of([""; 0]).rate(0.1));
    let error = fabric.setup_optimizer(&model, groups).unwrap_err();
    assert!(
        matches!(&error, FabricError::Patterns { problems } if problems == &[PatternProblem::None]),
        "{error}"
    );
}
