// Package kubeconfig changes kubeconfig files that other programs change too: it
// waits for kubectl's lock, writes whole files, and leaves everything that is not
// of the merged context as it is. cli's clusters kubeconfig calls it; it asks no
// hub and no cluster.
package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
)

// lockWithin is how long a kubeconfig that another program changes is waited
// for.
const lockWithin = 5 * time.Second

// Merge adds a context to the user's own kubeconfig, makes it the current one and
// returns where that is. Everything else in there stays as it is. Conflict: the
// name is of another cluster there.
func Merge(ctx context.Context, added *clientcmdapi.Config) (where string, err error) {
	path := clientcmd.NewDefaultPathOptions().GetDefaultFilename()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", errcode.New(errcode.Invalid, "write %s: %w", path, err)
	}
	unlock, err := lock(ctx, path)
	if err != nil {
		return "", err
	}
	defer unlock()
	config, err := clientcmd.LoadFromFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		config, err = clientcmdapi.NewConfig(), nil
	}
	if err != nil {
		return "", errcode.New(errcode.Invalid, "read %s: %w", path, err)
	}
	name := added.CurrentContext
	if err := foreign(config, added, name); err != nil {
		return "", errcode.New(errcode.Conflict, "%s: %w; choose another name with --name", path, err)
	}
	config.Clusters[name], config.AuthInfos[name], config.Contexts[name] = added.Clusters[name], added.AuthInfos[name], added.Contexts[name]
	config.CurrentContext = name
	return path, Write(path, config)
}

// foreign returns what of a name is not of an earlier merge of the same
// cluster, and would be lost.
func foreign(config, added *clientcmdapi.Config, name string) error {
	server := added.Clusters[name].Server
	if c, ok := config.Clusters[name]; ok {
		if c.Server != server {
			return fmt.Errorf("cluster %s is there already and is %s, not %s", name, c.Server, server)
		}
		return nil // made here before
	}
	if _, ok := config.AuthInfos[name]; ok {
		return fmt.Errorf("user %s is there already, for another cluster", name)
	}
	if _, ok := config.Contexts[name]; ok {
		return fmt.Errorf("context %s is there already, for another cluster", name)
	}
	return nil
}

// Write replaces a kubeconfig as a whole, so that whoever reads it
// meanwhile sees the old or the new one, and lets nobody else read it. A link
// to it stays one; what is no file is written into.
func Write(path string, config *clientcmdapi.Config) error {
	text, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		err = os.WriteFile(path, text, 0o600)
		if err != nil {
			return errcode.New(errcode.Invalid, "write %s: %w", path, err)
		}
		return nil
	}
	if err := atomicfile.Write(path, text, 0o600); err != nil {
		return errcode.New(errcode.Invalid, "write %s: %w", path, err)
	}
	return nil
}

// lock keeps kubectl, and other runs of this program, from changing a
// kubeconfig at the same time. The lock is kubectl's own.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	name := path + ".lock"
	ctx, cancel := context.WithTimeout(ctx, lockWithin)
	defer cancel()
	for {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL, 0)
		if err == nil {
			return func() {
				// What cannot be removed is told by the next one that waits for it.
				_ = os.Remove(name)
			}, f.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, errcode.New(errcode.Invalid, "write %s: %w", path, err)
		}
		if jitter.Wait(ctx, jitter.Add(20*time.Millisecond, 80*time.Millisecond)) != nil {
			return nil, errcode.New(errcode.Conflict, "%s is locked by another program; when none changes it, remove %s", path, name)
		}
	}
}
