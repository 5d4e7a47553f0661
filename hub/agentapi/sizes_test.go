package agentapi_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// TestAReportOfFewBytesStaysSmall: 912 bytes of an agent, which are 8 MiB of objects without
// anything, were stored, and cost 1.1 GB of the hub at each read of the service.
func TestAReportOfFewBytesStaysSmall(t *testing.T) {
	b := newBed(t)
	a := b.register("edge-1")
	v := b.declare("edge-1", "web", "web")
	w, err := zstd.NewWriter(nil, zstd.WithWindowSize(256<<10))
	if err != nil {
		t.Fatal(err)
	}
	bomb := w.EncodeAll(bytes.Repeat([]byte{0x0a, 0x00}, 4<<20-1), nil)
	status, err := proto.Marshal(&agentv1.ServiceStatus{Sync: "Synced", Health: "Healthy", Components: bomb})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(status)
	_, err = a.calls().Report(t.Context(), withToken(a, &agentv1.ReportRequest{BootId: a.boot, Services: []*agentv1.ServiceReport{{ServiceId: v.ID, NewHash: hex.EncodeToString(sum[:]), Status: status}}}))
	if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "its list of objects: it is larger in memory than is allowed") {
		t.Errorf("%d bytes of objects: %v", len(bomb), err)
	}
	_, err = a.calls().ReportDiff(t.Context(), withToken(a, &agentv1.ReportDiffRequest{BootId: a.boot, ServiceId: v.ID, Differences: bomb}))
	if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "larger in memory") {
		t.Errorf("%d bytes of a diff: %v", len(bomb), err)
	}
	read, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL+"/axle.hub.v1.Services/Get", strings.NewReader(`{"ref":{"cluster":"edge-1","name":"web"}}`))
	if err != nil {
		t.Fatal(err)
	}
	read.Header.Set("Authorization", "Bearer "+b.AdminToken)
	read.Header.Set("Content-Type", "application/json")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := a.client.Do(read)
	if err != nil {
		t.Fatal(err)
	}
	if err := got.Body.Close(); err != nil || got.StatusCode != http.StatusOK {
		t.Errorf("the service cannot be read: %s, %v", got.Status, err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
		t.Errorf("to read the service took %d MiB", took>>20)
	}
}
