// Package hubtest runs a real hub inside the calling process: its own data
// folder, a free port, a database on disk, real git. Tests of the edges, the
// test world and the development command use it; no released program does.
//
// It is the complete hub that hub.New makes. Only the guard of git fetches,
// which runs this program a second time, needs help: a program that uses
// hubtest calls Guard first thing in main, or runs its tests by Main.
//
//	func TestMain(m *testing.M) { hubtest.Main(m) }
package hubtest
