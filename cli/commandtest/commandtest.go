// Package commandtest runs the commands of one package of cli against a hub that answers
// each call with one message and records the requests. It is for what a command does by
// itself: which calls it makes, with what, and what it prints. Tests of cli run the
// commands against real hubs.
package commandtest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/axle-cd/axle/cli/command"
)

// Answers are the messages that the hub answers with, by the path of the call. It refuses
// all other calls.
type Answers map[string]proto.Message

// Result is a run of a command.
type Result struct {
	Out, Err string
	// Error is that of the command, and Requests are those of the calls that it made.
	Error    error
	Requests []proto.Message
}

// Run runs the command with the words of args. The command is that of a noun, and words
// begin with its verb.
func Run(t testing.TB, answers Answers, noun func(*command.App) *cobra.Command, args ...string) Result {
	t.Helper()
	var result Result
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, err := decode(r)
		answer, known := answers[r.URL.Path]
		if err != nil || !known {
			t.Errorf("no answer to %s (%v)", r.URL.Path, err)
			w.WriteHeader(http.StatusNotFound)
			return
		}
		mu.Lock()
		result.Requests = append(result.Requests, request)
		mu.Unlock()
		body, err := proto.Marshal(answer)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/proto")
		_, _ = w.Write(body)
	}))
	defer server.Close()
	environment := map[string]string{"AXLE_HUB_URL": server.URL, "AXLE_TOKEN": "token", "AXLE_CONFIG": filepath.Join(t.TempDir(), "config.yaml")}
	var out, errs bytes.Buffer
	a := &command.App{
		Streams: command.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, Args: args, Output: "table",
		Getenv: func(name string) string { return environment[name] }, Now: time.Now,
	}
	c := noun(a)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&errs)
	err := c.ExecuteContext(t.Context())
	mu.Lock()
	defer mu.Unlock()
	result.Out, result.Err, result.Error = out.String(), errs.String(), err
	return result
}

func decode(r *http.Request) (proto.Message, error) {
	service, method, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service + "." + method))
	if err != nil {
		return nil, err
	}
	kind, err := protoregistry.GlobalTypes.FindMessageByName(found.(protoreflect.MethodDescriptor).Input().FullName())
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	request := kind.New().Interface()
	return request, proto.Unmarshal(body, request)
}
