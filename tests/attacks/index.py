"""The 63 attacks: number → what it is, and the tests that hold against it (file::name)."""

from __future__ import annotations

from typing import Final

_R: Final = "attacks/test_resolving.py::"
_TABLE: Final = (
    _R + "test_every_reader_refuses_what_leads_out", _R + "test_no_other_argument_leads_out",
    "sandbox/test_resolving.py::test_path",
)  # fmt: skip
_BITES: Final = (*_TABLE, _R + "test_control_a_naive_open_shows_the_canary", _R + "test_22_40_nothing_outside_is_written")
_S: Final = "sandbox/"
_W: Final = "sandbox/test_writing.py::"
_C: Final = "sandbox/test_confine.py::"
_A: Final = "sandbox/test_admission.py::"
_G: Final = "sandbox/test_gate.py::"
_H: Final = "daemon/test_http.py::"
_D: Final = "daemon/"
_L: Final = "attacks/test_gate.py::"
_M: Final = "attacks/test_resources.py::"
_V: Final = "verbs/diff/test_apply.py::"

ATTACKS: Final[dict[int, tuple[str, tuple[str, ...]]]] = {
    1: ("`..` and absolute paths", _BITES),
    2: ("a sibling folder with the root's name as prefix", (*_BITES, _S + "test_resolving.py::test_control_prefix_check_leaks")),
    3: ("links out: relative, absolute, chains, last, middle", _BITES),
    4: ("a link with a trailing slash", _TABLE),
    5: ("`d/../f` where d is a link", _TABLE),
    6: ("loops and 41 links", _TABLE),
    7: ("creating through a dangling link out", (*_TABLE, _W + "TestOutside::test_attack_7_nothing_is_created_through_a_dangling_link")),
    8: ("a missing leaf below a link out", (*_TABLE, _W + "TestOutside::test_attack_8_22_40_every_end_of_every_change")),
    9: ("NUL, empty, too long", _TABLE),
    10: ("names that are not UTF-8", (_S + "test_resolving.py::test_attack_10_undecodable_name_comes_back_intact",)),
    11: ("/proc's magic links", (*_TABLE, _S + "test_resolving.py::test_attack_11_magic_links_of_proc_lead_nowhere")),
    12: ("a mount below the root", (_L + "test_12_a_mount_below_the_workspace_is_outside", _S + "test_resolving.py::test_attack_12_bind_mount_is_outside_unless_configured")),
    13: ("the flip race", (_L + "test_13_14_no_verb_leaks_under_a_rename_race", _S + "test_races.py::test_attack_13_14_no_leak_under_a_rename_race", _S + "test_races.py::test_control_13_a_checked_path_leaks_when_swapped")),
    14: ("the `..` race", (_L + "test_13_14_no_verb_leaks_under_a_rename_race", _S + "test_races.py::test_attack_13_14_no_leak_under_a_rename_race", _S + "test_races.py::test_control_14_opened_dots_leak_when_moved")),
    15: ("the root folder replaced while it runs", (_L + "test_15_a_workspace_that_is_replaced_serves_on_from_the_held_one", _S + "test_resolving.py::test_attack_15_replaced_root_serves_on_and_is_told")),
    16: ("a root that is a link", (_L + "test_16_a_workspace_that_is_a_link_has_two_spellings", _S + "test_resolving.py::test_attack_16_root_that_is_a_link_has_two_spellings")),
    17: ("an absolute link that stays inside", _TABLE),
    18: ("the listing race", (_S + "test_trees.py::test_attack_18_listing_race_stays_on_the_folders_descriptor",)),
    19: ("openat2 missing or refused", _TABLE),
    20: ("FIFO, socket, device", (*_TABLE, _S + "test_resolving.py::test_attack_20_nothing_hangs_on_what_is_no_file", _S + "test_resolving.py::test_control_20_plain_open_hangs_on_a_fifo")),
    21: ("a thousand `d/..`", (*_TABLE, _S + "test_resolving.py::test_attack_21_dots_cost_a_bounded_number_of_opens")),
    22: ("patch headers that lead out", (_R + "test_22_40_nothing_outside_is_written", _V + "test_names_that_lead_out_refuse_the_whole_patch", _W + "TestOutside::test_control_22_a_plain_write_lands_outside")),
    23: ("a patch that makes a link and writes through it", (_V + "test_a_patch_never_writes_by_way_of_a_link",)),
    24: ("planted .rej and .orig links", (_V + "test_planted_reject_and_original_links_stay_untouched", _W + "TestBackups::test_attack_24_files_that_other_tools_would_write_are_untouched")),
    25: ("ed scripts", (_V + "test_ed_scripts_are_never_run",)),
    26: ("modes of links, submodules, setuid", (_V + "test_modes_other_than_ordinary_are_refused_by_name", _W + "TestWhatSurvives::test_attack_26_37_set_uid_does_not_survive")),
    27: ("protected names in any spelling", (_V + "test_protected_names_are_refused_in_the_dry_run_too", _S + "test_protect.py::test_attack_27_spellings_of_protected_names", _S + "test_protect.py::test_attack_27_through_a_link", _S + "test_protect.py::test_control_27_a_check_of_the_text_is_passed_by_a_link")),
    28: ("creating an absent protected file", (_S + "test_protect.py::test_attack_28_creating_what_is_not_there_yet",)),
    29: ("a hard link from outside", (_W + "TestWhatSurvives::test_attack_29_hard_link_outside_keeps_its_bytes", _W + "TestWhatSurvives::test_control_29_a_plain_write_goes_through_the_hard_link")),
    30: ("a target that becomes a link after the read", (_W + "TestStale::test_attack_30_target_changes_after_it_was_read",)),
    31: ("planted temporary files", (_W + "TestCollisions::test_attack_31_planted_temporaries_are_retried",)),
    32: ("backups that exist, are links or folders", (_W + "TestBackups::test_attack_32_no_backup_is_ever_lost", _W + "TestBackups::test_control_32_a_plain_backup_writes_through_the_link")),
    33: ("full and failing disks", (_S + "test_crashing.py::test_attack_33_a_call_that_fails_at_any_step_leaves_the_old", _W + "TestRealDisks::test_attack_33_full_disk")),
    34: ("SIGKILL at each step", (_S + "test_crashing.py::test_attack_34_sigkill_at_every_step_is_all_old_or_all_new", _S + "test_crashing.py::test_attack_34_sigkill_in_recovery_too", _L + "test_60_a_signal_with_writes_running_leaves_none_half_done")),
    35: ("edits before recovery", (_S + "test_crashing.py::TestEditsBeforeRecovery::test_attack_35_edits_are_kept_and_reported",)),
    36: ("a forged journal", (_S + "test_crashing.py::TestForeignJournals::test_attack_36_forged_journal_that_knows_its_inode",)),
    37: ("modes, attributes, line ends, marks", (_W + "TestWhatSurvives::test_attack_37_mode_and_bytes", _W + "TestWhatSurvives::test_attack_37_attributes")),
    38: ("a stale hash", (_W + "TestStale::test_attack_38_stale_hash", _V + "test_a_stale_hash_is_refused")),
    39: ("two writers", (_L + "test_39_two_daemons_and_eight_clients_apply_one_after_the_other", _W + "TestLock::test_attack_39_two_writers_one_after_the_other", _W + "TestLock::test_control_39_without_the_lock_additions_are_lost")),
    40: ("renames with an end outside, or onto a file", (_R + "test_22_40_nothing_outside_is_written", _W + "TestWhatStandsThere::test_attack_40_rename_or_copy_onto_a_file")),
    41: ("case-only renames, NFC and NFD twins", (_W + "TestWhatStandsThere::test_attack_41_case_only_rename_and_twins",)),
    42: ("a catastrophic pattern", (_M + "test_42_a_catastrophic_pattern_costs_nothing_wherever_one_is_taken", _M + "test_control_42_a_backtracking_engine_doubles_with_every_character")),
    43: ("a 4 GiB allocation", (_C + "test_43_an_allocation_of_4_gib_fails_in_its_call", "attacks/test_memory.py::test_43_a_call_that_needs_too_much_memory_fails_alone")),
    44: ("sparse, growing and truncated files", (_M + "test_44_a_sparse_terabyte_is_refused_by_its_size", _M + "test_44_a_file_truncated_and_grown_while_read_is_told", _S + "test_reading.py::test_control_44_trusting_the_size_cuts_a_growing_file")),
    45: ("pseudo files of size 0", (_M + "test_45_a_file_that_says_it_is_empty_is_read_whole", _S + "test_reading.py::test_attack_45_pseudo_file_of_size_0_has_content")),
    46: ("deep JSON, alias bombs, huge integers", (_M + "test_46_a_document_made_to_overwhelm_is_answered", _M + "test_46_a_huge_number_is_compared", _M + "test_control_46_the_usual_readers_are_overwhelmed")),
    47: ("thousands of levels, a million entries", (_M + "test_47_deep_and_wide_folders_are_compared_and_cut", _S + "test_trees.py::test_attack_47_3000_levels_are_walked_with_few_descriptors", _S + "test_trees.py::test_control_47_the_standard_walk_gives_up")),
    48: ("descriptors exhausted", (_M + "test_48_a_daemon_out_of_descriptors_serves_again_when_there_are_some", _S + "test_resolving.py::test_attack_48_exhausted_descriptors_are_told_and_none_is_lost")),
    49: ("a worker killed in the middle of a reply", (_M + "test_49_half_a_frame_is_no_reply", _M + "test_49_workers_killed_while_they_send_give_whole_replies_or_errors")),
    50: ("the ways out of a worker", (_C + "test_50_nothing_outside_is_read_or_changed", _C + "test_50_no_socket_is_made", _C + "test_50_no_other_process_is_reached", _C + "test_50_a_read_worker_changes_nothing_inside")),
    51: ("threads before, descriptors besides", (_C + "test_51_a_thread_started_before_is_told_and_refused", _C + "test_51_open_descriptors_are_exactly_the_expected_ones")),
    52: ("every verb confined, imports frozen", ("attacks/test_confined.py::test_52_an_example_answers_the_same_confined", _C + "test_51_imports_after_the_confinement_fail")),
    53: ("Landlock missing under `require`", (_D + "test_confinement.py::test_53_landlock_missing_under_require_does_not_start",)),
    54: ("Host and Origin", (_H + "test_refused_before_a_verb_runs", _A + "test_54_any_other_name_is_421", _A + "test_54_pages_from_elsewhere_are_403")),
    55: ("token and content type", (_H + "test_refused_before_a_verb_runs", _A + "test_55_any_other_is_401", _A + "test_55_the_content_type_is_json_or_415")),
    56: ("oversized bodies and lying lengths", (_H + "test_a_body_past_the_limit_is_413_announced_or_not", _H + "test_length_and_chunks_together_are_refused", _A + "test_56_announced_lengths")),
    57: ("slow senders and readers", (_D + "test_streams.py::test_a_client_that_never_reads_holds_up_nobody",)),
    58: ("a flooding client", (_L + "test_58_a_flooding_client_does_not_hold_up_another", _D + "test_workers.py::test_a_thousand_waiting_calls_each_get_one_reply")),
    59: ("cancel and disconnect", (_D + "test_socket.py::test_a_client_that_leaves_frees_its_worker",)),
    60: ("SIGTERM with writes running", (_L + "test_60_a_signal_with_writes_running_leaves_none_half_done", _D + "test_workers.py::test_a_signal_stops_it_cleanly")),
    61: ("second daemons, stale sockets, long paths", (_D + "test_socket.py::test_two_daemons_do_not_share_a_socket", _G + "test_61_a_stale_socket_is_reclaimed", _G + "test_61_a_path_of_107_bytes_fits_and_108_are_refused")),
    62: ("another user", (_G + "test_62_another_user_is_told_apart",)),
    63: ("a root sent by the model", (_L + "test_63_no_root_that_a_caller_sends_is_taken", _L + "test_63_no_root_in_a_socket_s_first_line_is_taken", _L + "test_63_control_the_canary_is_there_for_a_daemon_of_that_folder")),
}  # fmt: skip
