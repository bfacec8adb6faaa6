use burn::nn::LinearConfig;
use burn::tensor::Tensor;
use burn_fabric::prelude::*;

fn main() -> Result<(), FabricError> {
    let fabric = Fabric::builder().build()?;
    let meta = fabric.init_module(|device| LinearConfig::new(2, 2).init(device))?;
    let output = meta.forward(Tensor::<2>::ones([1, 2], fabric.device()));
    println!("{}", output.mean());
    Ok(())
}
