package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/axle-cd/axle/test/program"
)

// The files of a Bed whose API servers are leased by one process after the other. The kernel
// ends a lock with its process, however that ends.
const (
	// bedFile is locked by who starts etcd or looks for an API server.
	bedFile  = "lock"
	etcdFile = "etcd.url"
	// leaseFile is locked by who has the API server in whose folder it is.
	leaseFile = "lease"
	// recordFile is there while the API server can be leased.
	recordFile = "server.json"
)

// leased is the Bed whose API servers this process leases. It is never closed: its keeper ends
// it, which is that of the run or ends with this process.
var leased struct {
	sync.Mutex
	bed *Bed
	// reaper is that of a keeper of this process. It waits for the end of what refers to it.
	reaper func()
}

func leasedBed() (*Bed, error) {
	leased.Lock()
	defer leased.Unlock()
	if leased.bed != nil {
		return leased.bed, nil
	}
	// Not by os.Getenv: to Go's test cache the variable would be an input of the test, which
	// is another one in each run. A result is the same with every keeper. What the test opens
	// below the folder is no input as it is outside of the module.
	keeper, ok := syscall.Getenv(program.KeeperVariable)
	if !ok {
		var err error
		if keeper, err = ownKeeper(); err != nil {
			return nil, err
		}
	}
	bed, err := openBed(keeper)
	leased.bed = bed
	return bed, err
}

// ownKeeper keeps programs for this process only, whose end ends them. The lock of leased is
// held.
func ownKeeper() (string, error) {
	dir, err := os.MkdirTemp("", "axle-kube-")
	if err != nil {
		return "", err
	}
	if leased.reaper, err = startReaper(dir); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	_, err = program.Keep(dir)
	return dir, err
}

// openBed returns the Bed of a keeper. The first one starts its etcd.
func openBed(keeper string) (*Bed, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	version := sha256.Sum256([]byte(bin))
	b := &Bed{dir: filepath.Join(keeper, "kube-"+hex.EncodeToString(version[:6])), bin: bin, keeper: keeper, log: slog.New(slog.DiscardHandler), reaper: func() {}}
	if err := os.MkdirAll(b.clusterDir(""), 0o755); err != nil {
		return nil, err
	}
	starting, err := lock(filepath.Join(b.dir, bedFile), true)
	if err != nil {
		return nil, err
	}
	defer starting.Close()
	url, err := os.ReadFile(filepath.Join(b.dir, etcdFile))
	if err == nil {
		b.etcdURL = string(url)
		return b, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	if err := b.startEtcd(ctx); err != nil {
		return nil, err
	}
	return b, replaceFile(filepath.Join(b.dir, etcdFile), []byte(b.etcdURL))
}

// newID makes the folder of one more API server.
func (b *Bed) newID() (string, error) {
	for n := 1; ; n++ {
		id := fmt.Sprintf("server-%d", n)
		if err := os.Mkdir(b.clusterDir(id), 0o755); !errors.Is(err, os.ErrExist) {
			return id, err
		}
	}
}

// note prints a line, and writes it down for who reads it at the end of the run.
func (b *Bed) note(line string) {
	fmt.Fprintln(os.Stderr, line)
	if err := program.Note(b.keeper, line); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// record is what a process has to know of an API server that another one started.
type record struct {
	Controllers bool
	Port        int
	Token       string
	Cert, Key   []byte // of the authority
	Program     int    // the keeper's number
	First       *state
	// Last is the cluster that had it last, and Leased that it was not given back.
	Last   string
	Leased bool
}

// write writes the record, and whether a cluster has the server.
func (s *server) write(leased bool) error {
	authority, err := s.ca.parts()
	if err != nil {
		return err
	}
	text, err := json.Marshal(record{
		Controllers: s.controllers, Port: s.port, Token: s.token, Cert: authority.cert, Key: authority.key,
		Program: s.api.ID(), First: s.first, Last: s.last, Leased: leased,
	})
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(s.dir, recordFile), text)
}

// read returns the server of a record; nil if it is of the other kind or gone.
func (b *Bed) read(file string, controllers bool) (*server, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var r record
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	if r.Controllers != controllers {
		return nil, nil
	}
	ca, err := parseAuthority(keyPair{cert: r.Cert, key: r.Key})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	dir := filepath.Dir(file)
	s := &server{
		bed: b, id: filepath.Base(dir), dir: dir, address: loopback, ca: ca, port: r.Port, token: r.Token,
		controllers: r.Controllers, audit: true, first: r.First, last: r.Last, left: r.Leased,
	}
	// It is nil if it has ended.
	s.api, _ = program.Kept(b.keeper, r.Program, dir, filepath.Join(b.bin, apiServer))
	return s, nil
}

// replaceFile writes a file as a whole.
func replaceFile(path string, content []byte) error {
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// lock locks a file; without waiting, nil means that another one has it.
func lock(path string, wait bool) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		err := syscall.Flock(int(file.Fd()), how)
		switch {
		case err == nil:
			return file, nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return nil, file.Close()
		default:
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
	}
}
