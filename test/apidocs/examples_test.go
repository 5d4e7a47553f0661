package apidocs

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

const (
	// limit is how long two answers may take to be equal on a loaded machine.
	limit = 60 * time.Second
	// oneCall is how long an answer, or the first message of a stream, may take.
	oneCall = 30 * time.Second
)

const root = "../.."

func TestMain(m *testing.M) { hubtest.Main(m) }

// shown returns the examples of the pages.
func shown(t *testing.T) []example {
	t.Helper()
	all, err := examples(root)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// moving are fields that differ between two answers of the same call.
var moving = map[string]bool{
	"at": true, "streamId": true, "resumeToken": true, "feedAgeMicros": true, "seenAt": true, "leaseAgeMicros": true, "diskFree": true, "lastUsedAt": true,
}

// ids are where the answers of some calls have what later examples name.
var ids = map[string]struct{ word, path string }{
	"Services/Create": {"SERVICE-ID", "id"}, "Operations/Start": {"OPERATION-ID", "id"}, "Tokens/Create": {"TOKEN-ID", "token.id"},
}

func method(call string) protoreflect.MethodDescriptor {
	service, name, _ := strings.Cut(call, "/")
	for _, s := range services() {
		if m := s.Methods().ByName(protoreflect.Name(name)); string(s.Name()) == service {
			return m
		}
	}
	return nil
}

// bed is a hub whose answers are compared.
type bed struct {
	*hubtest.Hub
	t     *testing.T
	web   *http.Client
	words []string // of examples, each with what it stands for here
}

// curl runs the command of the page and returns its answer. An error's is its code
// and message.
func (b *bed) curl(e example, m protoreflect.MethodDescriptor) (map[string]any, error) {
	b.t.Helper()
	e.request = strings.NewReplacer(b.words...).Replace(e.request)
	command := e.shell(m)
	if m.IsStreamingServer() { // it does not end
		command = strings.Replace(command, "--no-buffer", "--no-buffer --max-time 5", 1)
	}
	shell := exec.CommandContext(b.t.Context(), "sh", "-c", command)
	shell.Env = append(os.Environ(), "AXLE_HUB_URL="+b.URL, "AXLE_TOKEN="+b.AdminToken)
	var failure strings.Builder
	shell.Stderr = &failure
	text, err := shell.Output()
	last := false
	if m.IsStreamingServer() && len(text) > 5 {
		size := int(text[3])<<8 | int(text[4])
		last, text, err = text[0] == 2, text[5:min(len(text), 5+size)], nil
	}
	answer := map[string]any{}
	if bad := json.Unmarshal(text, &answer); bad != nil {
		return nil, fmt.Errorf("%s: %v: %s: %q: %w", command, err, failure.String(), text, bad)
	}
	if inner, is := answer["error"].(map[string]any); is && last {
		answer, err = inner, fmt.Errorf("the stream ended")
	}
	if err != nil {
		return map[string]any{"code": answer["code"], "message": answer["message"]}, nil
	}
	return answer, nil
}

// grpc makes the same call as gRPC.
func (b *bed) grpc(e example, m protoreflect.MethodDescriptor) (map[string]any, error) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), oneCall)
	defer cancel()
	message := dynamicpb.NewMessage(m.Input())
	if err := protojson.Unmarshal([]byte(strings.NewReplacer(b.words...).Replace(e.request)), message); err != nil {
		return nil, err
	}
	client := connect.NewClient[dynamicpb.Message, dynamicpb.Message](b.web, fmt.Sprintf("%s/%s/%s", b.URL, m.Parent().FullName(), m.Name()),
		connect.WithGRPC(), connect.WithSchema(m), connect.WithResponseInitializer(func(_ connect.Spec, into any) error {
			*into.(*dynamicpb.Message) = *dynamicpb.NewMessage(m.Output())
			return nil
		}))
	request := connect.NewRequest(message)
	request.Header().Set("Authorization", "Bearer "+b.AdminToken)
	var answer proto.Message
	var err error
	if m.IsStreamingServer() {
		var stream *connect.ServerStreamForClient[dynamicpb.Message]
		if stream, err = client.CallServerStream(ctx, request); err == nil {
			defer stream.Close()
			if stream.Receive() {
				answer = stream.Msg()
			}
			err = stream.Err()
		}
	} else {
		var response *connect.Response[dynamicpb.Message]
		if response, err = client.CallUnary(ctx, request); err == nil {
			answer = response.Msg
		}
	}
	if failure, is := err.(*connect.Error); is { //nolint:errorlint // connect returns it as it is
		return map[string]any{"code": failure.Code().String(), "message": failure.Message()}, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := protojson.Marshal(answer)
	if err != nil {
		return nil, err
	}
	said := map[string]any{}
	return said, json.Unmarshal(text, &said)
}

// still removes the fields that move from an answer.
func still(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if moving[name] {
				delete(v, name)
			} else {
				still(inner)
			}
		}
	case []any:
		for _, inner := range v {
			still(inner)
		}
	}
	return v
}

func TestExamples(t *testing.T) {
	git, err := gitserver.Start(t.Context(), gitserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = git.Close() })
	if err := git.Create(t.Context(), "fleet"); err != nil {
		t.Fatal(err)
	}
	if _, err := git.Commit(t.Context(), "fleet", "main", "the first", map[string]string{"web/a.yaml": "{}", "api/a.yaml": "{}", "ingress/a.yaml": "{}"}); err != nil {
		t.Fatal(err)
	}
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	b := &bed{
		Hub: hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{AllowHTTPUpstreams: true, RepoPollInterval: time.Hour}}), t: t,
		web: &http.Client{Transport: &http.Transport{Protocols: protocols}}, words: []string{"https://git.example.com/acme/fleet.git", git.URL("fleet")},
	}
	reads, seen := 0, map[string]bool{}
	var last []func()
	for _, e := range shown(t) {
		m := method(e.call)
		if m == nil {
			t.Fatalf("line %d of examples.txt: there is no call %s", e.line, e.call)
		}
		if _, err := e.message(m); err != nil {
			t.Fatal(err)
		}
		if seen[e.call] {
			t.Errorf("line %d of examples.txt: a second example of %s", e.line, e.call)
		}
		seen[e.call] = true
		switch e.mark {
		case "make":
			answer := b.succeeds(e, m)
			if known, is := ids[e.call]; is {
				var at any = answer
				for part := range strings.SplitSeq(known.path, ".") {
					at = at.(map[string]any)[part]
				}
				b.words = append(b.words, known.word, at.(string))
			}
		case "end":
			last = append(last, func() { b.succeeds(e, m) })
		case "read", "error":
			reads++
			eventually.For(t, limit, "equal answers to "+e.call, func() error { return b.compare(e, m) })
		}
	}
	for _, call := range slices.Backward(last) {
		call()
	}
	if reads < 50 {
		t.Errorf("only %d calls were compared", reads)
	}
}

// succeeds calls an example once, as the curl command of its page.
func (b *bed) succeeds(e example, m protoreflect.MethodDescriptor) map[string]any {
	b.t.Helper()
	answer, err := b.curl(e, m)
	if err != nil || answer["message"] != nil && answer["code"] != nil {
		b.t.Fatalf("line %d of examples.txt: %s: %v %v", e.line, e.call, answer, err)
	}
	return answer
}

func (b *bed) compare(e example, m protoreflect.MethodDescriptor) error {
	plain, err := b.curl(e, m)
	if err != nil {
		return err
	}
	binary, err := b.grpc(e, m)
	if err != nil {
		return err
	}
	if refused := plain["code"] != nil && plain["message"] != nil; refused != (e.mark == "error") {
		b.t.Errorf("line %d of examples.txt: marked %s, and the answer is %v", e.line, e.mark, plain)
		return nil
	}
	if d := cmp.Diff(still(plain), still(binary)); d != "" {
		return fmt.Errorf("line %d of examples.txt: JSON and gRPC differ:\n%s", e.line, d)
	}
	return nil
}

// TestGoExamplesCompile compiles the Go examples of all pages as one program.
func TestGoExamplesCompile(t *testing.T) {
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n\"context\"\n\"connectrpc.com/connect\"\n\"google.golang.org/protobuf/proto\"\nhubv1 \"github.com/axle-cd/axle/api/hub/v1\"\n\"github.com/axle-cd/axle/sdk\"\n)\n\nvar _ = proto.String\n\nfunc main() {}\n")
	for i, e := range shown(t) {
		m := method(e.call)
		if m == nil {
			continue // TestExamples says so
		}
		call, err := e.golang(m)
		if err != nil {
			t.Fatal(err)
		}
		answer := "answer"
		if m.IsStreamingServer() {
			answer = "stream"
		}
		fmt.Fprintf(&b, "\nfunc _%d(ctx context.Context, client *sdk.Client) (any, error) {\n%sreturn %s, err\n}\n", i, call, answer)
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "vet", file)
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
