package hub

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/errcode"
)

// lockFile keeps a second process out of a data folder, even when the database
// is elsewhere: mirrors and tarballs have one owner.
const lockFile = "replica.lock"

// lockFolder locks the data folder for this process. The kernel releases the
// lock when the process ends, however it ends.
func lockFolder(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, errcode.New(errcode.Invalid, "the data folder cannot be created: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "the data folder cannot be written: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		busy := errcode.New(errcode.Conflict, "another hub uses the data folder %s; stop it first, or give this one its own --data-dir", dir)
		return nil, errors.Join(busy, f.Close())
	}
	return f, nil
}

// replicaName returns the stable name of this replica: the given one, otherwise
// the one that an earlier start stored in the data folder, otherwise a new one.
// It is part of leases, so two replicas must never share it.
func replicaName(dir, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	path := filepath.Join(dir, "replica")
	if kept, err := os.ReadFile(path); err == nil {
		if name := strings.TrimSpace(string(kept)); name != "" {
			return name, nil
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read the replica's name: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "hub"
	}
	name := host + "-" + strings.ToLower(rand.Text()[:6])
	return name, atomicfile.Write(path, []byte(name+"\n"), 0o600)
}
