// stub
//! stub
/// stub
#[derive(Debug)]
pub struct ReadPlan;
impl ReadPlan {
    /// stub
    pub fn new(
        _: &crate::fragment::OpenFragment,
        _: &[trommel_planner::index::TableCol],
        _: &[trommel_planner::expr::BoundExpression],
    ) -> Result<Self, crate::ScanError> {
        Ok(Self)
    }
}
