// stub
//! stub
use trommel_planner::rows::*;
/// stub
pub struct MorselOutput {
    /// stub
    pub columns: Vec<arrow::array::ArrayRef>,
    /// stub
    pub rows: u64,
    /// stub
    pub rows_decoded: u64,
}
/// stub
pub async fn read_morsel(
    _: &crate::fragment::OpenFragment,
    _: &crate::lower::ReadPlan,
    _: &RowRanges<FragmentRows>,
    _: &RowRanges<FragmentRows>,
    _: &crate::io::RangeReader,
) -> Result<MorselOutput, crate::ScanError> {
    Ok(MorselOutput { columns: vec![], rows: 0, rows_decoded: 0 })
}
