package pg

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// packaged is where Debian puts the programs, which are not on PATH there.
const packaged = "/usr/lib/postgresql/15/bin"

// pathOf finds one of Postgres' programs.
func pathOf(name string) (string, error) {
	path := filepath.Join(packaged, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("program %s of Postgres is not in %s nor on PATH; run `make deps`", name, packaged)
	}
	return path, nil
}

// credential returns whom to run the server as: Postgres refuses root, so root
// becomes the user postgres; any other user stays (nil).
func credential() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("there is no user postgres to run the server as, since it refuses root; run `make deps`: %w", err)
	}
	uid, uerr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(uerr, gerr); err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
