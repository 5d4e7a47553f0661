package main

import (
	"errors"
	"unsafe"
)

// accept is all that WASI has of sockets: take a connection from one that the
// host opened.
//
//go:wasmimport wasi_snapshot_preview1 sock_accept
func accept(fd, flags int32, result unsafe.Pointer) (errno uint32)

// socket looks for a socket among all open descriptors: on one that cannot accept,
// the error differs from that of a socket without a caller (EAGAIN, 6).
func socket() error {
	for fd := int32(0); fd < 16; fd++ {
		var connection int32
		if errno := accept(fd, 4, unsafe.Pointer(&connection)); errno == 0 || errno == 6 {
			return nil
		}
	}
	return errors.New("no socket")
}
