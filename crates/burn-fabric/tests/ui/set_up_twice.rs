use burn::nn::LinearConfig;
use burn_fabric::prelude::*;

fn main() -> Result<(), FabricError> {
    let fabric = Fabric::builder().build()?;
    let meta = fabric.init_module(|device| LinearConfig::new(2, 2).init(device))?;
    let model = fabric.setup(meta)?;
    fabric.setup(model)?;
    Ok(())
}
