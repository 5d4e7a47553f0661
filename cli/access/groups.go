package access

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/sdk"
)

// membersOf lists the members by name, with the login provider that added each.
func membersOf(g *hubv1.Group) string {
	var lines []string
	for _, m := range g.GetMember() {
		line := m.GetName()
		if by := slices.DeleteFunc(slices.Clone(m.GetSources()), func(s string) bool { return s == "" }); len(by) > 0 {
			line += " (by " + strings.Join(by, ", ") + ")"
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return strconv.Itoa(int(g.GetMembers()))
	}
	return strings.Join(lines, "\n")
}

// printGroup shows a group and its members.
func printGroup(a *command.App, g *hubv1.Group) error {
	rows := []command.Column[*hubv1.Group]{
		command.Col("Name", (*hubv1.Group).GetName),
		command.Col("Description", (*hubv1.Group).GetDescription),
		command.Col("Members", membersOf),
		command.Col("Managed by", command.ManagerOf[*hubv1.Group]),
	}
	return command.PrintOne(a, g, (*hubv1.Group).GetName, rows...)
}

func printGroups(a *command.App, all []*hubv1.Group) error {
	return command.PrintList(a, all, (*hubv1.Group).GetName,
		command.Col("NAME", (*hubv1.Group).GetName),
		command.Col("MEMBERS", func(v *hubv1.Group) string { return strconv.Itoa(int(v.GetMembers())) }),
		command.Ages("AGE", func(v *hubv1.Group) string { return a.Age(v.GetCreatedAt()) }),
		command.Wide("ID", (*hubv1.Group).GetId),
		command.Wide("MANAGED BY", command.ManagerOf[*hubv1.Group]),
		command.Col("DESCRIPTION", (*hubv1.Group).GetDescription),
	)
}

// Groups returns the command axle groups.
func Groups(a *command.App) *cobra.Command {
	management := command.Management()
	list := command.ListsManaged(a, "Group", "List groups", "", printGroups)
	get := command.Gets(a, "Group", "Show groups and their members", "", printGroup, printGroups)
	var description string
	create := groupCommand(a, "create NAME", "Create a group", 1, func(ctx context.Context, c *sdk.Client, args []string) (*connect.Response[hubv1.Group], error) {
		return c.Groups.Create(ctx, connect.NewRequest(&hubv1.CreateGroupRequest{Name: args[0], Description: description, Management: management}))
	})
	create.Long = `Create a group. A login provider can map its own groups to it and so add members;
names that match no group of the hub are ignored. Clusters see the group as a Kubernetes group.`
	create.Flags().StringVar(&description, "description", "", "what it is for")
	add := groupCommand(a, "add-member GROUP EMAIL", "Add a user or service account to a group", 2, func(ctx context.Context, c *sdk.Client, args []string) (*connect.Response[hubv1.Group], error) {
		return c.Groups.AddMember(ctx, connect.NewRequest(&hubv1.AddMemberRequest{Group: args[0], User: args[1], Management: management}))
	})
	remove := groupCommand(a, "remove-member GROUP EMAIL", "Remove a user or service account from a group", 2, func(ctx context.Context, c *sdk.Client, args []string) (*connect.Response[hubv1.Group], error) {
		return c.Groups.RemoveMember(ctx, connect.NewRequest(&hubv1.RemoveMemberRequest{Group: args[0], User: args[1], Management: management}))
	})
	end := command.Deletes(a, "Group", "group", "deleted", "Delete groups and their bindings", "")
	for _, writes := range []*cobra.Command{create, add, remove} {
		command.TakeOverFlag(writes, management)
	}
	return command.Noun("groups", "Manage groups of users and service accounts (administrators)", []string{"group"}, list, get, create, add, remove, end)
}

// groupCommand makes a command whose answer is a group.
func groupCommand(a *command.App, use, short string, args int, call func(context.Context, *sdk.Client, []string) (*connect.Response[hubv1.Group], error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: command.Exactly(args),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			g, err := call(c.Context(), client, args)
			if err != nil {
				return err
			}
			return printGroup(a, g.Msg)
		}),
	}
}
