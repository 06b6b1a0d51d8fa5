use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type as Schema;

use crate::{Cell, Error, Table, Type};

impl Table {
    /// The table as a Parquet file: one row group, every column optional, uncompressed.
    ///
    /// Counts are 64-bit integers; one over 2⁶³ is left empty. Errors: from the library.
    pub fn parquet(&self) -> Result<Vec<u8>, Error> {
        self.written().map_err(|error| Error::Parquet(error.to_string()))
    }

    fn written(&self) -> Result<Vec<u8>, ParquetError> {
        let fields = self.columns.iter().map(|column| {
            let physical = match column.kind {
                Type::Text => Physical::BYTE_ARRAY,
                Type::Count => Physical::INT64,
                Type::Number => Physical::DOUBLE,
                Type::Flag => Physical::BOOLEAN,
            };
            let logical = (column.kind == Type::Text).then_some(LogicalType::String);
            let builder = Schema::primitive_type_builder(column.name, physical);
            builder.with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build().map(Arc::new)
        });
        let schema =
            Schema::group_type_builder("table").with_fields(fields.collect::<Result<_, _>>()?).build()?;
        let properties =
            WriterProperties::builder().set_created_by(format!("taillight {}", env!("CARGO_PKG_VERSION")));
        let mut writer =
            SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties.build()))?;
        let mut group = writer.next_row_group()?;
        for (i, column) in self.columns.iter().enumerate() {
            let cells = self.rows.iter().map(|row| &row[i]);
            match column.kind {
                Type::Text => write::<ByteArrayType>(&mut group, cells, |cell| match cell {
                    Cell::Text(text) => Some(ByteArray::from(text.as_str())),
                    _ => None,
                })?,
                Type::Count => write::<Int64Type>(&mut group, cells, |cell| match cell {
                    Cell::Count(n) => i64::try_from(*n).ok(),
                    _ => None,
                })?,
                Type::Number => write::<DoubleType>(&mut group, cells, |cell| match cell {
                    Cell::Number(value) => Some(*value),
                    _ => None,
                })?,
                Type::Flag => write::<BoolType>(&mut group, cells, |cell| match cell {
                    Cell::Flag(flag) => Some(*flag),
                    _ => None,
                })?,
            }
        }
        group.close()?;
        writer.into_inner()
    }
}

fn write<'a, T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    cells: impl Iterator<Item = &'a Cell>,
    read: fn(&Cell) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let cells: Vec<Option<T::T>> = cells.map(read).collect();
    // The definition level marks a value as absent or present.
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    let values: Vec<T::T> = cells.into_iter().flatten().collect();
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(&values, Some(&levels), None)?;
        column.close()?;
    }
    Ok(())
}
