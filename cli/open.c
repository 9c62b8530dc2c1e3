/* Contexts and nodes for the commands. SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"
#include "report.h"

static int create_context(cli *c) {
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.nthreads = c->args.nthreads;
    options.io = c->args.io;
    options.nvcomp = c->args.nvcomp;
    options.log = c->args.log_off ? NULL : cli_log;
    options.log_level = c->args.quiet ? HR_LOG_ERROR : c->args.log_level;
    hr_error err = HR_ERROR_INIT;
    if (hr_context_create(&options, &c->context, &err) != HR_OK) {
        return cli_report(&err);
    }
    return CLI_OK;
}

int cli_open(cli *c, hr_node **node) {
    int rc = create_context(c);
    hr_error err = HR_ERROR_INIT;
    if (rc == CLI_OK &&
        hr_open(c->context, c->args.positional[0], NULL, node, &err) != HR_OK) {
        (void)cli_report(&err);
        rc = CLI_USAGE; /* whatever kept it from being opened */
    }
    return rc;
}

int cli_open_array(cli *c, hr_node **node, hr_node_info *info) {
    hr_node *opened = NULL;
    int rc = cli_open(c, &opened);
    if (rc != CLI_OK) {
        return rc;
    }
    hr_error err = HR_ERROR_INIT;
    if (hr_node_describe(opened, info, &err) != HR_OK) {
        rc = cli_report(&err);
    } else if (info->kind != HR_NODE_ARRAY) {
        rc = cli_usage_error("'%s' is a group; '%s' wants an array ('headrace info' "
                             "lists the members)",
                             c->args.positional[0], c->command->name);
    }
    if (rc != CLI_OK) {
        hr_node_unref(opened);
        return rc;
    }
    *node = opened;
    return CLI_OK;
}
