use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was read from disks and found in the page cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InputOutput {
    /// How long the probe looked.
    pub observed_s: f64,
    /// Share of all processors' time that was idle with something waiting for a disk, 0 to 1.
    pub wait_share: f64,
    /// Bytes that the server had read from disks, per second; `None` where that may not be read.
    pub disk_read_bytes_per_s: Option<f64>,
    /// Bytes that the server read by system calls, files and sockets, per second.
    pub read_bytes_per_s: Option<f64>,
    /// Share of the bytes that the server read by calls for which no disk was asked, 0 to 1; `None` where disks gave
    /// nothing: all was in the page cache, or no file was read. Files that are sent by `sendfile` count as read by
    /// calls, too; those in mapped memory as disk reads only.
    pub page_cache_hit_ratio: Option<f64>,
    /// Page faults of the server that needed a disk, per second.
    pub major_faults_per_s: f64,
}
