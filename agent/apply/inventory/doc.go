// Package inventory is the record of what a service has in the cluster: its objects, the
// runs of its hooks and how far its last pass got. A Store keeps it in Secrets beside
// the agent.
//
// It does not decide what is applied or deleted. agent/apply and the packages below it
// read and write it.
//
// Invariants: a Secret holds at most 512 KiB packed and 16 MiB unpacked; the first
// Secret is written last and names the valid others, so that an interrupted write leaves
// the previous inventory; a write fails with Conflict if somebody else wrote since it was
// read; an unreadable inventory stops only its own service.
package inventory
