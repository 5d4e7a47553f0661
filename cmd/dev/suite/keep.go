package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/axle-cd/axle/test/program"
)

// keptFolder stands for the tests of all folders in the record: they use what is kept one
// after the other.
const keptFolder = "kept for all tests"

// keeping runs a go test whose test binaries share what a process beside it keeps: API
// servers and their etcd (test/kube). It is a process of its own because what it starts must
// end with this one, and because this one waits for orphans.
func (m *meter) keeping(test func() (int, error)) (int, error) {
	dir, err := os.MkdirTemp("", "axle-suite-")
	if err != nil {
		return 1, err
	}
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	cmd := exec.Command(self, "keep", dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe() // its end, also by our death, is the keeper's
	if err != nil {
		return 1, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	wait, err := m.start(cmd)
	if err != nil {
		return 1, err
	}
	m.seen.keeps(cmd.Process.Pid)
	lines := bufio.NewReader(out)
	if _, err = lines.ReadString('\n'); err == nil {
		err = os.Setenv(program.KeeperVariable, dir)
	}
	code := 1
	if err == nil {
		code, err = test()
	}
	err = errors.Join(err, in.Close())
	_, notes := io.Copy(os.Stdout, lines)
	kept, ended := wait()
	if kept != 0 && ended == nil {
		ended = errors.New("what keeps programs for the tests failed, as it printed")
	}
	return code, errors.Join(err, notes, ended)
}

// keepPrograms is the process that keeps. It ends with its standard input, ends all that it kept,
// prints what tests had to note, and removes the folder. A signal that ends the tests does not
// end it before them, nor does it end because nobody reads what it prints.
func keepPrograms(args []string) error {
	if len(args) != 1 {
		return errors.New(usage)
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	keeper, err := program.Keep(args[0])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	err = keeper.Close()
	notes, missing := os.ReadFile(filepath.Join(args[0], program.NotesFile))
	if missing == nil { // else there are none
		_, printed := os.Stdout.Write(notes)
		err = errors.Join(err, printed)
	}
	return errors.Join(err, os.RemoveAll(args[0]))
}
