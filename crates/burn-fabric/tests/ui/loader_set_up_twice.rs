use burn::data::dataloader::batcher::Batcher;
use burn::data::dataset::InMemDataset;
use burn::tensor::Device;
use burn_fabric::prelude::*;

struct Stack;

impl Batcher<f32, Vec<f32>> for Stack {
    fn batch(&self, items: Vec<f32>, _device: &Device) -> Vec<f32> {
        items
    }
}

fn main() -> Result<(), FabricError> {
    let fabric = Fabric::builder().build()?;
    let dataset = InMemDataset::new(vec![1.0, 2.0]);
    let loader = fabric.setup_dataloader(LoaderOverDataset::new(dataset, Stack))?;
    fabric.setup_dataloader(loader)?;
    Ok(())
}
