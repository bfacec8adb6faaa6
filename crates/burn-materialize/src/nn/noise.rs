//! Layers that act in training only: a flag and no tensor.

use burn::nn::{Dropout, GaussianNoise};

use super::fields;
use crate::leaves::no_hook;

fields! {
    Dropout { training }
    GaussianNoise { training }
}

no_hook!([] Dropout, [] GaussianNoise);
