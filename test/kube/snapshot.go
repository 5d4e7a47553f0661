package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/axle-cd/axle/test/program"
)

// Snapshot writes a snapshot of etcd into a file, as etcdctl snapshot save does.
func (b *Bed) Snapshot(ctx context.Context, file string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.etcdURL+"/v3/maintenance/snapshot", strings.NewReader("{}"))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("snapshot of etcd: %s", resp.Status)
	}
	to, err := os.Create(file)
	if err != nil {
		return err
	}
	parts := json.NewDecoder(resp.Body)
	for {
		var part struct {
			Result struct{ Blob []byte }
			Error  any
		}
		err := parts.Decode(&part)
		if errors.Is(err, io.EOF) {
			return to.Close()
		}
		if err == nil && part.Error != nil {
			err = fmt.Errorf("snapshot of etcd: %v", part.Error)
		}
		if err == nil {
			_, err = to.Write(part.Result.Blob)
		}
		if err != nil {
			return errors.Join(err, to.Close())
		}
	}
}

// Restore puts a snapshot in place of what etcd has, by a program etcdutl, and starts the API
// servers again. What watches them sees the past with revisions that are new.
func (b *Bed) Restore(ctx context.Context, etcdutl, file string) error {
	b.mu.Lock()
	clusters := b.clusters
	b.mu.Unlock()
	for _, c := range clusters {
		c.Stop()
	}
	b.etcd.Kill()
	dir := filepath.Join(b.dir, "etcd")
	data := filepath.Join(dir, "data")
	if err := os.RemoveAll(data); err != nil {
		return err
	}
	args := []string{"restore", file, "--name=bed", "--data-dir=" + data, "--bump-revision=1000000000", "--mark-compacted"}
	for _, arg := range b.etcdArgs {
		if strings.HasPrefix(arg, "--initial-") {
			args = append(args, arg)
		}
	}
	if out, err := exec.CommandContext(ctx, etcdutl, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("etcdutl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	var err error
	if b.etcd, err = b.run(b.keeper, dir, "etcd", b.etcdArgs); err != nil {
		return err
	}
	if err := b.etcd.WaitReady(ctx, program.Answers(b.etcdURL+"/health")); err != nil {
		return err
	}
	for _, c := range clusters {
		if err := c.Restart(ctx); err != nil {
			return err
		}
	}
	return nil
}
