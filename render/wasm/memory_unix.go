//go:build unix

package wasm

import (
	"context"

	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"
)

// withMemory gives a module its memory in one block outside the heap, which is freed
// with the module. Slices that grow by copying, and are freed by the collector, would
// reach the child's limit before the module's.
func withMemory(ctx context.Context) context.Context {
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(func(_, most uint64) experimental.LinearMemory {
		all, err := unix.Mmap(-1, 0, int(min(most, memoryPages<<16)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return &piece{}
		}
		return &piece{all: all}
	}))
}

// piece is one module's memory.
type piece struct{ all []byte }

// Reallocate implements experimental.LinearMemory; nil means out of memory.
func (p *piece) Reallocate(size uint64) []byte {
	if size > uint64(len(p.all)) {
		return nil
	}
	return p.all[:size]
}

// Free implements experimental.LinearMemory.
func (p *piece) Free() {
	if p.all != nil {
		_ = unix.Munmap(p.all)
		p.all = nil
	}
}
