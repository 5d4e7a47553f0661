// Package hubtest runs a real hub inside the calling process: its own data
// folder, a free port, a database on disk, real git. Tests of the edges, the
// test world and the development command use it; nothing that is shipped does.
//
// It is the hub as hub.New makes it, with nothing taken away. Only its guard
// of git fetches, which is this program run once more, needs help: a program
// that uses hubtest calls Guard first thing in main, or runs its tests by Main.
//
//	func TestMain(m *testing.M) { hubtest.Main(m) }
package hubtest
