use burn::nn::LinearConfig;
use burn::optim::AdamWConfig;
use burn_fabric::prelude::*;

fn main() -> Result<(), FabricError> {
    let fabric = Fabric::builder().build()?;
    let meta = fabric.init_module(|device| LinearConfig::new(2, 2).init(device))?;
    fabric.setup_optimizer(&meta, AdamWConfig::new())?;
    Ok(())
}
