package ownertree

import (
	"cmp"
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/kubehealth"
)

// Object is an object of a cluster, with the fields that a tree shows.
type Object struct {
	Group, Version, Kind, Namespace, Name, UID string
	// Health is one of the words of kubehealth, or empty.
	Health, Message string
	// Synced says whether a root is as its service wants it.
	Synced bool
	// Created is in microseconds since 1970 UTC, zero if unknown.
	Created int64
}

// Node is an object and what it owns.
type Node struct {
	Object
	// Failing marks the path to the first failed object.
	Failing  bool
	Children []*Node

	idle bool
}

// Tree is the objects of a service and what they own.
type Tree struct {
	Roots []*Node
	// Failing says in one line which object failed first and why, with the path to
	// it. Empty if all are healthy.
	Failing string
	// Notes say what was not read, and why.
	Notes []string
}

// tidy removes the ReplicaSets of earlier revisions, which own nothing, and sorts the
// rest.
func tidy(nodes []*Node) []*Node {
	nodes = slices.DeleteFunc(nodes, func(n *Node) bool { return n.idle && len(n.Children) == 0 })
	for _, n := range nodes {
		n.Children = tidy(n.Children)
		slices.SortFunc(n.Children, func(a, b *Node) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
		})
	}
	return nodes
}

// bad reports whether an object is not healthy yet, or failed.
func (n *Node) bad() bool {
	switch kubehealth.Status(n.Health) {
	case "", kubehealth.Healthy, kubehealth.Suspended:
		return false
	}
	return true
}

// worst is the worst health at the end of paths through unhealthy objects. A failure
// below a healthy object does not count: a pod of a Job that succeeded at its second
// try.
func (n *Node) worst() kubehealth.Status {
	if !n.bad() {
		return kubehealth.Healthy
	}
	status := kubehealth.Status(n.Health)
	for _, c := range n.Children {
		status = kubehealth.Worst(status, c.worst())
	}
	return status
}

// blame marks the path to the first failed object and says why it failed. Of several
// equally bad objects it uses the newest, which belongs to the newest revision.
func (t *Tree) blame() {
	var way []string
	reason := ""
	for nodes := t.Roots; ; {
		var first *Node
		for _, n := range nodes {
			if n.bad() && (first == nil || cmp.Or(kubehealth.Compare(n.worst(), first.worst()), cmp.Compare(n.Created, first.Created)) > 0) {
				first = n
			}
		}
		if first == nil {
			break
		}
		first.Failing = true
		way = append(way, first.Kind+" "+first.Name)
		reason = cmp.Or(first.Message, reason, first.Health)
		nodes = first.Children
	}
	if way != nil {
		t.Failing = strings.Join(way, " > ") + ": " + reason
	}
}
