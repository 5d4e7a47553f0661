package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/test/attack"
)

func attackCommand() *cobra.Command {
	var hub, token string
	var only []string
	var list bool
	c := &cobra.Command{
		Use: "attack", Args: cobra.NoArgs,
		Short: "Play attacks on a hub, one line each; fails when one succeeds",
		RunE: func(c *cobra.Command, _ []string) error {
			attacks, err := chosen(only)
			if err != nil || list {
				for _, a := range attacks {
					fmt.Printf("%-2s  %-28s %s\n", a.Class, a.Name, a.Story)
				}
				return err
			}
			return attackHub(c, hub, token, attacks)
		},
	}
	c.Flags().StringVar(&hub, "hub", "", "URL of a hub of yours; default: one that is started for it")
	c.Flags().StringVar(&token, "token", os.Getenv("AXLE_TOKEN"), "token of an administrator of that hub (default: $AXLE_TOKEN)")
	flagvalue.List(c.Flags(), &only, "only", "play those whose class or name begins with one of these, such as A1,tags")
	c.Flags().BoolVar(&list, "list", false, "list the attacks with what each attacker has and wants, and play none")
	return c
}

func chosen(only []string) (attacks []attack.Attack, err error) {
	for _, a := range attack.All {
		if len(only) == 0 || slices.ContainsFunc(only, func(begin string) bool { return strings.HasPrefix(a.Class, begin) || strings.HasPrefix(a.Name, begin) }) {
			attacks = append(attacks, a)
		}
	}
	if len(attacks) == 0 {
		return nil, fmt.Errorf("no attack begins with %q; --list has all", only)
	}
	return attacks, nil
}

func attackHub(c *cobra.Command, hub, token string, attacks []attack.Attack) (err error) {
	target := attack.Somebodys(hub, token)
	switch {
	case hub == "":
		p := progress{time.Now()}
		if target, err = attack.Start(c.Context(), attacks, p.say); err != nil {
			return err
		}
	case token == "":
		return errors.New("--hub needs the token of an administrator: --token, or AXLE_TOKEN")
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	return attack.Run(c.Context(), os.Stdout, target, attacks)
}
