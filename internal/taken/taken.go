// Package taken measures for tests what a call allocates: a bound of what a text becomes is
// held by a number of bytes. Only tests call it.
package taken

import "runtime"

// By returns what a call allocates that is reachable or was, in bytes: more than what is
// in use at any time. What else runs in the process counts too.
func By(call func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// Few fails a fuzz test when what is made of a text of others takes more than a mebibyte and
// 2 KiB for each of its bytes.
func Few(t interface {
	Helper()
	Errorf(format string, args ...any)
}, text int, call func()) {
	t.Helper()
	if bytes := By(call); bytes > 1<<20+2048*text {
		t.Errorf("%d bytes take %d", text, bytes)
	}
}
