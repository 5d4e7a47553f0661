package fields_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/fields"
)

func age(micros int64) string {
	if micros == 0 {
		return ""
	}
	return fmt.Sprint(micros/1e6, "s")
}

// What scripts read of a message keeps its names.
func TestTheFieldsOfMessages(t *testing.T) {
	for want, m := range map[string]proto.Message{
		`{"at":"1970-01-01T00:00:05Z","age":"5s","kind":"a","object":"","by":"Ann <ann@example.com>","message":"","cluster":"","service":"","id":7}`: &hubv1.Event{At: 5e6, Kind: "a", By: "Ann <ann@example.com>", Id: 7},
		`{"id":"","name":"github","issuer":"","audience":"","claims":{"ref":"main"},"account":"","scopes":["read","write"],"lifetime":"1h0m0s","createdAt":"","createdAge":"","createdBy":"","lastUsedAt":"1970-01-01T00:00:05Z","lastUsedAge":"5s","managedBy":{"tool":"","id":""},"caPem":""}`: &hubv1.Trust{
			Name: "github", Claims: map[string]string{"ref": "main"}, Scopes: []string{"read", "write"}, LifetimeMicros: 3600e6, LastUsedAt: 5e6},
		`{"id":"tok_1","kind":"","name":"","source":"","agent":"","createdAt":"","createdAge":"","lastUsedAt":"","lastUsedAge":"","expiresAt":"1970-01-01T00:00:09Z","current":true}`:                                                                                                                                                                                                                            &hubv1.Session{Id: "tok_1", ExpiresAt: 9e6, Current: true},
		`{"id":"","name":"shop","description":"","createdAt":"","createdAge":"","clusters":0,"services":2,"limits":{"namespaces":[],"kinds":[],"clusterScoped":false,"serviceAccount":"","syncWindows":[],"accounts":[],"clusters":0,"services":0,"previews":0,"machines":0,"domains":[],"applications":0},"managedBy":{"tool":"cli","id":""},"limitsManagedBy":{"tool":"","id":""},"administratorsOnly":false}`: &hubv1.Project{Name: "shop", Services: 2, ManagedBy: &hubv1.Manager{Tool: "cli"}},
	} {
		t.Run(string(m.ProtoReflect().Descriptor().Name()), func(t *testing.T) {
			got, err := fields.Of(m, age).MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			var compact, wanted any
			if err := json.Unmarshal(got, &compact); err != nil {
				t.Fatalf("%v in %s", err, got)
			}
			if err := json.Unmarshal([]byte(want), &wanted); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(compact) != fmt.Sprint(wanted) {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// Every message has fields, whatever is in it and however deep it is.
func TestEveryMessageIsAnObject(t *testing.T) {
	n := 0
	messages := hubv1.File_hub_v1_hub_proto.Messages()
	for i := range messages.Len() {
		m := messages.Get(i)
		n++
		text, err := fields.Of(dynamicpb.NewMessage(m), age).MarshalJSON()
		if err != nil || !json.Valid(text) {
			t.Errorf("%s: %v, %.200s", m.FullName(), err, text)
		}
	}
	if n < 80 {
		t.Errorf("only %d messages were found", n)
	}
}
