//! The three in turn, and what comes out of it.

use std::collections::BTreeMap;

use anyhow::Result;
use burn_fabric_bench::median;
use burn_fabric_bench::peer::Peer;
use serde::Serialize;
use serde_json::{Value, json};

/// Runs of each, in turn, after one that does not count.
const TURNS: usize = 7;

/// PyTorch, where it is there.
pub struct Torch(Option<Peer>);

impl Torch {
    pub fn start() -> Self {
        let peer = Peer::start(include_str!("peer.py"));
        Self(
            peer.map_err(|error| eprintln!("no PyTorch to compare with: {error:#}"))
                .ok(),
        )
    }

    pub fn ask(&mut self, request: Value) -> Result<Option<f64>> {
        let peer = self.0.as_mut();
        peer.map(|peer| peer.ask(&request.to_string())).transpose()
    }
}

/// The medians of each of several times that a run takes, in milliseconds.
pub struct Medians<const N: usize> {
    pub ours: [f64; N],
    pub burn: [f64; N],
    pub torch: Option<[f64; N]>,
}

/// Time each in turn. A run says its own times: what is not to be timed is left out of them.
pub fn in_turn<const N: usize>(
    mut ours: impl FnMut() -> Result<[f64; N]>,
    mut burn: impl FnMut() -> Result<[f64; N]>,
    mut torch: impl FnMut() -> Result<Option<[f64; N]>>,
) -> Result<Medians<N>> {
    let (mut our_times, mut burn_times, mut torch_times) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 0..=TURNS {
        let times = (ours()?, burn()?, torch()?);
        if turn > 0 {
            our_times.push(times.0);
            burn_times.push(times.1);
            torch_times.extend(times.2);
        }
    }
    let medians = |times: &[[f64; N]]| -> [f64; N] {
        std::array::from_fn(|part| median(times.iter().map(|times| times[part]).collect()))
    };
    Ok(Medians {
        ours: medians(&our_times),
        burn: medians(&burn_times),
        torch: (!torch_times.is_empty()).then(|| medians(&torch_times)),
    })
}

/// A line of the output.
#[derive(Serialize)]
pub struct Row {
    bench: String,
    threads: usize,
    torch_threads: Option<f64>,
    ours_ms: f64,
    burn_ms: f64,
    torch_ms: Option<f64>,
    vs_burn: f64,
    vs_torch: Option<f64>,
    #[serde(flatten)]
    more: BTreeMap<String, f64>,
    #[serde(skip)]
    missed: bool,
}

impl Row {
    /// By the first of the times.
    pub fn new<const N: usize>(
        bench: impl Into<String>,
        medians: &Medians<N>,
        torch: &mut Torch,
    ) -> Result<Self> {
        let (ours_ms, burn_ms) = (medians.ours[0], medians.burn[0]);
        let torch_ms = medians.torch.map(|torch| torch[0]);
        Ok(Self {
            bench: bench.into(),
            threads: rayon::current_num_threads(),
            torch_threads: match torch_ms {
                Some(_) => torch.ask(json!({"do": "threads"}))?,
                None => None,
            },
            ours_ms,
            burn_ms,
            torch_ms,
            vs_burn: burn_ms / ours_ms,
            vs_torch: torch_ms.map(|torch_ms| torch_ms / ours_ms),
            more: BTreeMap::new(),
            missed: false,
        })
    }

    pub fn with(mut self, name: impl Into<String>, value: f64) -> Self {
        self.more.insert(name.into(), value);
        self
    }

    /// Each one's time at `place`, as `<whose>_<name>_ms`.
    pub fn with_each<const N: usize>(
        self,
        name: &str,
        medians: &Medians<N>,
        of: impl Fn(&[f64; N]) -> f64,
    ) -> Self {
        let row = self
            .with(format!("ours_{name}_ms"), of(&medians.ours))
            .with(format!("burn_{name}_ms"), of(&medians.burn));
        match &medians.torch {
            Some(torch) => row.with(format!("torch_{name}_ms"), of(torch)),
            None => row,
        }
    }

    /// Say that a goal is missed, where it is.
    pub fn goal(mut self, holds: bool, goal: &str) -> Self {
        if !holds {
            eprintln!("{} missed: {goal}", self.bench);
        }
        self.missed |= !holds;
        self
    }

    pub fn at_least_times_burn(self, times: f64) -> Self {
        let holds = self.vs_burn >= times;
        self.goal(
            holds,
            &format!("at least {times} times faster than burn-store"),
        )
    }

    pub fn at_least_times_torch(self, times: f64) -> Self {
        let holds = self.vs_torch.is_none_or(|ratio| ratio >= times);
        self.goal(holds, &format!("at least {times} times as fast as PyTorch"))
    }

    /// Print it; whether its goals are reached.
    pub fn print(self) -> Result<bool> {
        println!("{}", serde_json::to_string(&self)?);
        Ok(!self.missed)
    }
}
