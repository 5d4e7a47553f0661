// Package kubeconfig changes kubeconfig files that other programs change too.
// It takes kubectl's lock, replaces files as a whole, and keeps everything
// outside the merged context. The command clusters kubeconfig of cli/clusters calls it.
// It contacts no hub and no cluster.
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

// lockWithin is how long to wait for another program that holds the lock of a
// kubeconfig.
const lockWithin = 5 * time.Second

// Merge adds a context to the user's own kubeconfig, makes it the current one
// and returns the path of the file. It changes nothing else. Conflict: the name
// already belongs to another cluster there.
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

// foreign returns an error if name is in use for something other than an
// earlier merge of the same cluster, which a merge would overwrite.
func foreign(config, added *clientcmdapi.Config, name string) error {
	server := added.Clusters[name].Server
	if c, ok := config.Clusters[name]; ok {
		if c.Server != server {
			return fmt.Errorf("cluster %s already exists with server %s, not %s", name, c.Server, server)
		}
		return nil // made here before
	}
	if _, ok := config.AuthInfos[name]; ok {
		return fmt.Errorf("user %s already exists, for another cluster", name)
	}
	if _, ok := config.Contexts[name]; ok {
		return fmt.Errorf("context %s already exists, for another cluster", name)
	}
	return nil
}

// Write replaces a kubeconfig as a whole: concurrent readers see the old or the
// new content. Only the owner can read the file. A symbolic link stays a link.
// A path that is not a regular file is written to in place.
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

// lock prevents kubectl and other runs of this program from changing the same
// kubeconfig at the same time. It uses kubectl's lock file.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	name := path + ".lock"
	ctx, cancel := context.WithTimeout(ctx, lockWithin)
	defer cancel()
	for {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL, 0)
		if err == nil {
			return func() {
				// If this fails, the next program that waits for the lock
				// reports it.
				_ = os.Remove(name)
			}, f.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, errcode.New(errcode.Invalid, "write %s: %w", path, err)
		}
		if jitter.Wait(ctx, jitter.Add(20*time.Millisecond, 80*time.Millisecond)) != nil {
			return nil, errcode.New(errcode.Conflict, "%s is locked by another program; if no program is changing it, remove %s", path, name)
		}
	}
}
