// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Column types as a `query` line of an SQL case names them.

use arrow::datatypes::{DataType, Fields};
use sqllogictest::ColumnType;

/// The type of one result column: the letters of `query TIR…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// `B`
    Boolean,
    /// `D`: a date or a time of day.
    DateTime,
    /// `I`: an integer of any width.
    Integer,
    /// `P`: a timestamp.
    Timestamp,
    /// `R`: a float or a decimal.
    Number,
    /// `T`: a string, encoded in any way.
    Text,
    /// `?`: anything else.
    Other,
}

impl ColumnType for Column {
    fn from_char(letter: char) -> Option<Self> {
        Some(match letter {
            'B' => Self::Boolean,
            'D' => Self::DateTime,
            'I' => Self::Integer,
            'P' => Self::Timestamp,
            'R' => Self::Number,
            'T' => Self::Text,
            _ => Self::Other,
        })
    }

    fn to_char(&self) -> char {
        match self {
            Self::Boolean => 'B',
            Self::DateTime => 'D',
            Self::Integer => 'I',
            Self::Timestamp => 'P',
            Self::Number => 'R',
            Self::Text => 'T',
            Self::Other => '?',
        }
    }
}

/// The column types of a result.
pub(crate) fn columns(fields: &Fields) -> Vec<Column> {
    fields.iter().map(|field| column(field.data_type())).collect()
}

fn column(data_type: &DataType) -> Column {
    match data_type {
        DataType::Boolean => Column::Boolean,
        DataType::Date32 | DataType::Date64 | DataType::Time32(_) | DataType::Time64(_) => Column::DateTime,
        DataType::Timestamp(_, _) => Column::Timestamp,
        DataType::Dictionary(_, values) if values.is_string() => Column::Text,
        other if other.is_integer() => Column::Integer,
        other if other.is_floating() || other.is_decimal() => Column::Number,
        other if other.is_string() => Column::Text,
        _ => Column::Other,
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::TimeUnit;
    use rstest::rstest;

    use super::*;

    fn dictionary(values: DataType) -> DataType {
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(values))
    }

    #[rstest]
    #[case(DataType::Boolean, 'B')]
    #[case(DataType::UInt8, 'I')]
    #[case(DataType::Float16, 'R')]
    #[case(DataType::Decimal256(40, 2), 'R')]
    #[case(DataType::Utf8View, 'T')]
    #[case(DataType::LargeUtf8, 'T')]
    #[case(DataType::Date64, 'D')]
    #[case(DataType::Time64(TimeUnit::Nanosecond), 'D')]
    #[case(DataType::Timestamp(TimeUnit::Second, Some("UTC".into())), 'P')]
    #[case(dictionary(DataType::Utf8), 'T')]
    #[case(dictionary(DataType::Int64), '?')]
    #[case(DataType::Duration(TimeUnit::Second), '?')]
    #[case(DataType::Binary, '?')]
    #[case(DataType::Null, '?')]
    fn letters(#[case] data_type: DataType, #[case] letter: char) {
        assert_eq!(column(&data_type).to_char(), letter);
        assert_eq!(Column::from_char(letter), Some(column(&data_type)));
    }
}
