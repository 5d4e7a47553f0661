// Package backup keeps copies of the hub's database in a folder or a bucket: it makes
// them on a schedule, removes old ones, and finds and opens one for a restore.
//
// It does not know what a backup contains (hub/store writes and reads it), encrypts
// nothing beyond what is sealed in it already, and restores nothing itself. Package hub
// runs its Keeper, on one replica at a time, and axle-hub's commands use its places.
//
// Invariants:
//   - A name is there only when its backup is complete: a folder gets it by a rename, a
//     bucket by the end of a multipart upload. What a kill leaves is removed by a later
//     backup: a file after an hour, an upload after a day.
//   - Retention removes only backups of its own series, which it makes itself, and only
//     after a newer one is complete; nothing while a restore waits for its confirmation.
//     A database that began empty has another series, so it never removes the backups of
//     the one that it replaced.
//   - A backup takes 6 h at most and 16 MiB of memory. A failed one is made again after
//     a random time up to a minute, later up to an hour.
package backup
