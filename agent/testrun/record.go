package testrun

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/logkey"
)

// record is one run in the file. It contains no secrets: results are scrubbed, and
// manifests are rendered again.
type record struct {
	Name      string            `json:"name"`
	Namespace string            `json:"namespace"`
	Result    json.RawMessage   `json:"result"`
	Made      map[string]string `json:"made,omitempty"`
}

// storeLocked stores all runs. If that fails, a restarted agent only loses the
// results: tests whose Jobs are gone run again.
func (r *Runner) storeLocked() {
	all := map[string]record{}
	for id, one := range r.runs {
		result := proto.CloneOf(one.result)
		if !ended(result.GetState()) {
			for _, t := range result.GetTests() {
				t.Tail, t.LogBytes, t.Report = "", 0, nil
			}
		}
		text, err := protojson.Marshal(result)
		if err != nil {
			continue
		}
		all[id] = record{Name: one.request.Name, Namespace: one.request.Namespace, Result: text, Made: one.made}
	}
	text, err := json.Marshal(all)
	if err == nil {
		err = atomicfile.Write(r.cfg.File, text, 0o600)
	}
	if err != nil {
		r.cfg.Log.Warn("cannot store results of tests", logkey.Error, err)
	}
}

// recall reads the runs that an earlier process stored. A damaged file counts as
// missing.
func (r *Runner) recall() {
	text, err := os.ReadFile(r.cfg.File)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var all map[string]record
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		r.cfg.Log.Warn("ignoring stored results of tests that cannot be read", logkey.Error, err)
		return
	}
	for id, kept := range all {
		result := &agentv1.TestRun{}
		if protojson.Unmarshal(kept.Result, result) != nil || result.GetServiceId() != id {
			continue
		}
		if kept.Made == nil {
			kept.Made = map[string]string{}
		}
		r.runs[id] = &run{resumed: true, result: result, made: kept.Made, unsent: true,
			request: Request{Service: id, Name: kept.Name, Namespace: kept.Namespace, Key: result.GetKey()}}
	}
}
