// Package send renders one message for a chat or any URL that accepts JSON, and
// delivers it. hub/notify calls it.
//
// It retries nothing and stores nothing: the caller does, by the Result.
//
// Invariants: a delivery takes at most 10 s and follows no redirect; 4 KiB of an answer
// are read; no error or answer has the URL or the signing key; what others wrote is
// escaped for the format, so that it makes no link and mentions nobody.
package send
