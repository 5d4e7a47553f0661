package bin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

const (
	// useFile is in each variant. It names the checkout, its time is that of the last
	// use, and processes that got a program of the variant hold its lock.
	useFile = "use"
	// unusedFor is how long an unused variant is kept.
	unusedFor = 3 * 24 * time.Hour
)

var variantName = regexp.MustCompile(`^[0-9a-f]{16}$`)

// held are the locks of this process, which end with it.
var held = map[string]*os.File{}

// hold says that a variant is in use, for as long as this process runs. The
// lock of all builds is held.
func hold(dir, root string) error {
	if held[dir] != nil {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(dir, useFile), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		return errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
	}
	// Writing also sets the time.
	if _, err := f.WriteAt([]byte(root+"\n"), 0); err != nil {
		return errors.Join(err, f.Close())
	}
	held[dir] = f
	return nil
}

// clean removes the variants that are no longer needed. The lock of all builds is
// held.
func clean(all string, now time.Time) error {
	entries, err := os.ReadDir(all)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		dir := filepath.Join(all, e.Name())
		if !e.IsDir() || !variantName.MatchString(e.Name()) || held[dir] != nil {
			continue
		}
		free, err := unused(dir, now)
		if err == nil && free {
			err = os.RemoveAll(dir)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// unused reports whether a variant was not asked for in a long time, or its
// checkout is gone, and no process has it.
func unused(dir string, now time.Time) (bool, error) {
	f, err := os.Open(filepath.Join(dir, useFile))
	if errors.Is(err, fs.ErrNotExist) {
		// It was made before there were such files.
		info, err := os.Stat(dir)
		return err == nil && now.Sub(info.ModTime()) > unusedFor, err
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return false, nil // somebody has it
	}
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	if now.Sub(info.ModTime()) > unusedFor {
		return true, nil
	}
	root, err := os.ReadFile(f.Name())
	if err != nil {
		return false, err
	}
	_, err = os.Stat(filepath.Join(strings.TrimSpace(string(root)), "go.mod"))
	return errors.Is(err, fs.ErrNotExist), nil
}
