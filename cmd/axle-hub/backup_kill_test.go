package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bucketserver"
)

// A hub that is killed while it uploads a backup leaves none, and makes it at its next
// start.
func TestKilledWhileItBacksUp(t *testing.T) {
	store := bucketserver.Start(t)
	dir, keys := t.TempDir(), bucketserver.CredentialsFile(t, "")
	bucket := []string{"--backup-endpoint", store.URL, "--backup-region", bucketserver.Region, "--backup-credentials-file", keys}
	uploading := make(chan struct{})
	var once sync.Once
	store.Break(func(r *http.Request) int {
		if r.Method != http.MethodPost || r.URL.Query().Get("uploadId") == "" {
			return 0
		}
		once.Do(func() { close(uploading) })
		<-r.Context().Done() // the end of an upload hangs until the hub is gone
		return http.StatusServiceUnavailable
	})
	flags := append([]string{"--backup-to", "s3://" + bucketserver.Bucket + "/axle"}, bucket...)
	hub := serve(t, dir, flags...)
	<-uploading
	if err := hub.signal(syscall.SIGKILL); err == nil {
		t.Error("a killed hub ended well")
	}
	list := append([]string{"backups", "s3://" + bucketserver.Bucket + "/axle"}, bucket...)
	if out := run(t, list...); out != "" {
		t.Fatalf("half a backup is listed: %s", out)
	}
	store.Break(nil)
	serve(t, dir, flags...)
	eventually.For(t, limit, "the backup is made", func() error {
		if out := run(t, list...); strings.Count(out, "axle-") != 1 {
			return fmt.Errorf("listed %q", out)
		}
		return nil
	})
}
