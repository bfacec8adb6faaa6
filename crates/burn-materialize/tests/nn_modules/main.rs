//! One test for each module type of burn-nn, named after it: built on the meta device and
//! materialised, a module is what its constructor makes eagerly.

mod activation;
mod attention;
mod conv;
mod encoding;
mod linear;
mod loss;
mod noise;
mod norm;
mod recurrent;
mod same_weights;
mod shape;
mod support;
mod transformer;
