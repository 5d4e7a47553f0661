package services

import (
	"slices"
	"testing"
)

func TestATreeIsDrawnBelowItsOwners(t *testing.T) {
	pod := treeNodeView{Kind: "Pod", Namespace: "shop", Name: "web-1"}
	other := treeNodeView{Kind: "Secret", Namespace: "certs", Name: "web"}
	rows := treeRows([]treeNodeView{{Kind: "Deployment", Namespace: "shop", Name: "web", Children: []treeNodeView{
		{Kind: "ReplicaSet", Namespace: "shop", Name: "web-a", Children: []treeNodeView{pod}}, other,
	}}}, "", "")
	var titles []string
	for _, r := range rows {
		titles = append(titles, r.title)
	}
	want := []string{"Deployment shop/web", "├─ ReplicaSet web-a", "│  └─ Pod web-1", "└─ Secret certs/web"}
	if !slices.Equal(titles, want) {
		t.Errorf("%q, want %q", titles, want)
	}
}
