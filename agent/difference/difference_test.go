package difference_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/agent/difference"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/scrub"
)

func object(kind, name string, data map[string]any) difference.Object {
	return difference.Object{
		Difference:    difference.Difference{Ref: kubeobj.Ref{Kind: kind, Name: name}, Action: difference.Create},
		DesiredObject: map[string]any{"kind": kind, "metadata": map[string]any{"name": name, "uid": "u"}, "data": data},
	}
}

// A value is hidden where it is a Secret's, where another object repeats it, where
// it is the service's own, and where a template looked it up.
func TestNoSecretIsShown(t *testing.T) {
	all := []difference.Object{
		object("Secret", "s", map[string]any{"p": "aHVudGVyMmh1bnRlcjI="}),
		object("ConfigMap", "repeats", map[string]any{"a": "x hunter2hunter2 y", "b": "own-secret-1", "c": "looked-up-1", "d": "plain"}),
	}
	found := difference.NewMasker().Words(all, scrub.New(map[string]string{"config.own": "own-secret-1"}), map[string]string{"kube-system/x.y": "looked-up-1"})
	text := fmt.Sprint(found)
	for _, secret := range []string{"hunter2", "aHVudGVy", "own-secret", "looked-up-1"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in %s", secret, text)
		}
	}
	if !strings.Contains(text, "d: plain") || !strings.Contains(text, "[hash ") || strings.Contains(text, "uid") {
		t.Error(text)
	}
}

func TestPackedIsBoundedAndCountsTheRest(t *testing.T) {
	var found difference.Comparison
	for n := range 5_000 {
		found.Differences = append(found.Differences, difference.Difference{Ref: kubeobj.Ref{Kind: "ConfigMap", Name: fmt.Sprint(n)}, Action: difference.Create,
			Desired: fmt.Sprintf("%x", strings.Repeat(fmt.Sprint(n*7919), 100))})
	}
	found.Differences = append([]difference.Difference{{Action: difference.Update, Desired: strings.Repeat("a", 33<<10), Message: "why"}}, found.Differences...)
	data, err := difference.Pack(found)
	if err != nil || len(data) > 64<<10 {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	reader, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	raw, err := reader.DecodeAll(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	var list agentv1.DifferenceList
	if err := proto.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	if got := len(list.GetDifferences()) + int(list.GetLeftOut()); got != len(found.Differences) || list.GetLeftOut() == 0 {
		t.Errorf("%d of %d are accounted for", got, len(found.Differences))
	}
	if first := list.GetDifferences()[0]; first.GetDesired() != "" || !strings.Contains(first.GetMessage(), "larger than 32 KiB") {
		t.Errorf("%+v", first)
	}
}
